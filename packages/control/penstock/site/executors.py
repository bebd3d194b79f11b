"""Ensures that no workflow waits for a dead executor.

An executor is a process that runs workflows. Each beats; one that has been silent for
SILENCE is dead, and a live one resumes its workflows. If it was only slow, steps run
twice at worst, which they tolerate, and the engine lets one outcome win.
"""

import asyncio
from datetime import timedelta
from typing import Final

from dbos import DBOS

from penstock.kernel import log
from penstock.kernel.db import Database, Tx
from penstock.site import downlink

BEAT_S: Final = 5.0
SILENCE: Final = timedelta(seconds=20)
logger = log.get(__name__)


async def keep_alive(database: Database, id: str) -> None:
    while True:
        dead = await database.run(lambda tx: _beat(tx, id))
        for other in dead:
            await _take_over(other)
            await database.run(lambda tx, other=other: _bury(tx, other))
        await asyncio.sleep(BEAT_S)


async def _take_over(dead: str) -> None:
    pending = await DBOS.list_workflows_async(
        executor_id=dead, status="PENDING", load_input=False, load_output=False
    )
    if pending:
        logger.warning("taking over", executor=dead, workflows=len(pending))
        await DBOS.resume_workflows_async([workflow.workflow_id for workflow in pending])


async def _beat(tx: Tx, id: str) -> list[str]:
    """Tell that we live; those who have not told for too long."""
    await tx.execute(
        """
        INSERT INTO executors (id, beat_at) VALUES ($1, $2)
        ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at
        """,
        id,
        tx.now,
    )
    rows = await tx.fetch("SELECT id FROM executors WHERE beat_at < $1", tx.now - SILENCE)
    return [row["id"] for row in rows]


async def _bury(tx: Tx, id: str) -> None:
    await tx.execute("DELETE FROM executors WHERE id = $1 AND beat_at < $2", id, tx.now - SILENCE)
    await downlink.forget_connections(tx, id)
