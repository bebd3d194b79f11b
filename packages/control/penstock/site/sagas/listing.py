"""The workflows that run at a site, for operators: what each is for, how far, and why it waits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from dbos import DBOSClient, StepInfo

from penstock.kernel.db import Database
from penstock.site import engine
from penstock.site.documents import telling
from penstock.site.sagas.attempts import AGAIN
from penstock.site.sagas.workflows import NAME, Id

RUNNING: Final = ["PENDING", "ENQUEUED"]
SHOWN_MAX: Final = 1000


@dataclass(frozen=True)
class Running:
    id: str
    kind: str
    key: str
    revision: int
    workflow: str
    version: int
    since: datetime
    executor: str
    step: str  # what was told last, and since when
    step_since: datetime | None
    attempts: int  # of what is tried again now; 0 if nothing is
    reason: str  # why the last one failed


async def running(database: Database, url: str) -> list[Running]:
    """The oldest first."""
    client = DBOSClient(system_database_url=engine.address(url), dbos_system_schema=engine.SCHEMA)
    try:
        found = await client.list_workflows_async(
            status=RUNNING, name=NAME, limit=SHOWN_MAX, load_input=False, load_output=False
        )
        made: list[Running] = []
        for each in found:
            done = await client.list_workflow_steps_async(each.workflow_id)
            since = datetime.fromtimestamp((each.created_at or 0) / 1000, UTC)
            made.append(await _running(database, each.workflow_id, since, each.executor_id, done))
        return made
    finally:
        client.destroy()


async def _running(
    database: Database, id: str, since: datetime, executor: str | None, done: Sequence[StepInfo]
) -> Running:
    about = Id.parse(id)
    told = await database.run(
        lambda tx: telling.last_step(tx, about.kind, about.key, about.revision)
    )
    attempts, reason = _trying(done)
    step = f"{told[0]} {told[1].removeprefix('STEP_STATUS_').lower()}" if told else ""
    return Running(
        id, about.kind, about.key, about.revision, about.saga, about.version, since,
        executor or "", step, told[2] if told else None, attempts, reason,
    )  # fmt: skip


def _trying(done: Sequence[StepInfo]) -> tuple[int, str]:
    """How often what is tried now has failed, and why it did last."""
    failed: list[str] = []
    for operation in done:
        match operation["output"]:
            case (state, str(why), _) if state == AGAIN:
                failed.append(why)
            case _ if not operation["function_name"].startswith("pause "):
                failed.clear()
            case _:
                pass
    return len(failed), failed[-1] if failed else ""
