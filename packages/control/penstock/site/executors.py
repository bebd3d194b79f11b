"""Ensures that no workflow waits for a dead executor.

An executor is a process that runs workflows. Each beats; one that has been silent for too
long is dead, and a live one resumes its workflows and takes its uplink. If it was only
slow, steps run twice at worst, which they tolerate, and the engine lets one outcome win.
"""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from dbos import DBOS

from penstock.kernel import log, loops
from penstock.kernel.db import LOST, Database, Tx
from penstock.kernel.loops import Idle, Loop, Pauses
from penstock.site import uplink
from penstock.site.nodes import presence

BEATS_PER_SILENCE: Final = 4
PAUSES: Final = Pauses(0.5, 0.5)  # whoever misses a beat must not miss the next
logger = log.get(__name__)


@dataclass(frozen=True)
class Executor:
    """This process among those of its site."""

    id: str
    silence: timedelta  # after which another one is dead


def loop(database: Database, url: str, me: Executor) -> Loop:
    return Loop(
        "executors",
        "Tells that this process lives, and takes over from those that do not.",
        loops.reconcile(partial(keep_alive, database, url, me), pauses=PAUSES),
    )


async def keep_alive(database: Database, url: str, me: Executor) -> Idle:
    for dead in await database.run(lambda tx: _beat(tx, me)):
        try:
            await _take_over(dead)
            await uplink.take_from(url, dead)
        except LOST as error:  # it stays unburied: the next beat finds it again
            logger.warning("takeover interrupted", executor=dead, error=str(error))
        else:
            await database.run(lambda tx, dead=dead: _bury(tx, dead, me.silence))
    return me.silence.total_seconds() / BEATS_PER_SILENCE


async def _take_over(dead: str) -> None:
    pending = await DBOS.list_workflows_async(
        executor_id=dead, status="PENDING", load_input=False, load_output=False
    )
    if pending:
        logger.warning("taking over", executor=dead, workflows=len(pending))
        await DBOS.resume_workflows_async([workflow.workflow_id for workflow in pending])


async def _beat(tx: Tx, me: Executor) -> list[str]:
    """Tell that we live; those who have not told for too long."""
    await tx.execute(
        """
        INSERT INTO executors (id, beat_at) VALUES ($1, $2)
        ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at
        """,
        me.id,
        tx.now,
    )
    rows = await tx.fetch("SELECT id FROM executors WHERE beat_at < $1", tx.now - me.silence)
    return [row["id"] for row in rows]


async def _bury(tx: Tx, id: str, silence: timedelta) -> None:
    await tx.execute("DELETE FROM executors WHERE id = $1 AND beat_at < $2", id, tx.now - silence)
    await presence.forget_connections(tx, id)
