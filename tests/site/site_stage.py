"""A site's documents, sagas and engine in this process. Tests play central."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from dbos import DBOS
from stand_in_node import StandInNode

from penstock.kernel import db, loops
from penstock.kernel.db import Database, Tx
from penstock.kernel.wakeups import Wakeups
from penstock.site import engine, kinds
from penstock.site.documents import service
from penstock.site.sagas.kinds import AnyKind, Kinds
from penstock.site.sagas.model import Saga
from penstock.site.sagas.workflows import Workflows
from penstock.site.settings import SiteSettings
from penstock.site.tasks.service import Tasks
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.identity import PrivateKey
from penstock_contracts.ids import AllocationId

SOON_S: Final = 60.0
Load = Callable[[Tasks], Kinds]


class SiteStage:
    def __init__(self, url: str, failpoints: Path) -> None:
        self.url = url
        self.failpoints = failpoints
        self.key = PrivateKey.generate()
        self.node = StandInNode()
        self.kinds = Kinds()
        self._working: list[asyncio.Task[None]] = []

    async def start(self, load: Load = kinds.load) -> None:
        """As a process starts: it resumes whatever was left behind."""
        self.database: Database = await db.connect(self.url, "site")
        wakeups = Wakeups(self.url)
        tasks = Tasks(self.database, wakeups, self.key, deadline=timedelta(seconds=60))
        self.kinds = Kinds({name: quick(kind) for name, kind in load(tasks).by_name.items()})
        settings = {"database_url": self.url, "data": self.failpoints}
        engine.prepare(SiteSettings.model_validate(settings))
        workflows = Workflows(self.database, wakeups, self.kinds)
        self._work(wakeups.listen())
        await wakeups.listening.wait()
        await self.database.run(self.node.enrol)
        self._work(self.node.answer(self.database, wakeups))
        engine.launch()
        self._work(loops.keep(workflows.loop()))

    async def stop(self) -> None:
        """As a process ends: whatever it was doing, it does not finish."""
        ending = [*self._working, *workflows()]
        for task in ending:
            task.cancel()
        await asyncio.wait(ending)
        self._working.clear()
        await engine.stop()
        await self.database.close()
        # The engine's threads were the loop's, and are no more; a new process has its own.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())

    async def restart(self, load: Load = kinds.load) -> None:
        await self.stop()
        await self.start(load)

    def _work(self, work: Coroutine[Any, Any, None]) -> None:
        self._working.append(asyncio.create_task(work))

    # What central says.

    async def send(self, document: wire.Document) -> None:
        decoders = self.kinds.decoders
        await self.database.run(lambda tx: service.receive(tx, decoders, document))

    async def jar(self, key: str, /, revision: int = 1, **changes: Any) -> None:
        body = json.dumps("plums").encode()
        made = wire.Document(kind="jar", key=key, revision=revision, body=body)
        for name, value in changes.items():
            setattr(made, name, value)
        await self.send(made)

    async def lease(self, id: str, desired: "wire.Desired", revision: int = 1) -> None:
        await self.send(self.lease_document(id, desired, revision))

    def lease_document(self, id: str, desired: "wire.Desired", revision: int = 1) -> wire.Document:
        slot = wire.SlotBinding(slot_id="slot_1", fence=7, gpu_uuid="GPU-1", cleanup_steps=["wipe"])
        body = wire.DesiredAllocation(
            allocation_id=id, revision=revision, desired=desired, shape=wire.SHAPE_GPU_SLICE,
            node_id=self.node.id, slots=[slot],
        )  # fmt: skip
        return wire.Document(kind="lease", key=id, revision=revision, body=body.SerializeToString())

    # What happens at the site.

    def arm(self, point: str, action: str) -> None:
        (self.failpoints / f"{point}.hit").unlink(missing_ok=True)
        (self.failpoints / point).write_text(action)

    def hit(self, point: str) -> bool:
        return (self.failpoints / f"{point}.hit").exists()

    async def until_hit(self, point: str) -> None:
        async with asyncio.timeout(SOON_S):
            while not self.hit(point):  # noqa: ASYNC110 a file tells nobody
                await asyncio.sleep(0.01)

    async def outcome(self, key: str, *, revision: int = 1, version: int = 1) -> str:
        """How the workflow of this revision and version ended, once it has."""
        kind = "jar" if key.startswith("jar") else "lease"
        async with asyncio.timeout(SOON_S):
            while True:
                for found in await DBOS.list_workflows_async(
                    workflow_id_prefix=f"{kind}:{key}:{revision}:"
                ):
                    ended = found.status not in ("PENDING", "ENQUEUED")
                    if ended and found.workflow_id.endswith(f":{version}"):
                        assert found.status == "SUCCESS", found.error
                        return str(found.output)
                await asyncio.sleep(0.02)

    async def steps(self, key: str) -> list[tuple[str, str]]:
        rows = await self.database.fetch(
            "SELECT step, status FROM steps WHERE key = $1 ORDER BY at", key
        )
        return [(row["step"], row["status"].removeprefix("STEP_STATUS_")) for row in rows]

    async def told(self, key: str) -> list[wire.SiteReport]:
        """What central would hear of this key, in order."""
        rows = await self.database.fetch(
            "SELECT body FROM feed_entries WHERE feed = 'central' ORDER BY seq"
        )
        reports = [wire.SiteReport.FromString(row["body"]) for row in rows]
        return [one for one in reports if key in (one.stepped.key, one.reported.key)]

    async def observed(self, key: str) -> list[str]:
        """What central would believe of a lease, in order."""
        bodies = [
            wire.LeaseReport.FromString(one.reported.body)
            for one in await self.told(key)
            if one.HasField("reported")
        ]
        return [
            wire.Observed.Name(body.observed.observed) if body.HasField("observed") else "proofs"
            if body.cleanup.proofs else body.cleanup.reason
            for body in bodies
        ]  # fmt: skip

    async def run(self, work: Callable[[Tx], Coroutine[Any, Any, None]]) -> None:
        await self.database.run(work)


def workflows() -> list[asyncio.Task[Any]]:
    """What the engine runs: it would go on beside the next process."""
    name = "_execute_workflow_async"
    return [task for task in asyncio.all_tasks() if name in repr(task.get_coro())]


def new_lease() -> str:
    return str(AllocationId.new())


def quick(kind: AnyKind) -> AnyKind:
    """The same kind, whose pauses are short and whose bound is near."""

    def quickened(saga: Saga[Any]) -> Saga[Any]:
        return replace(
            saga,
            steps=tuple(
                replace(
                    step,
                    retries=replace(
                        step.retries,
                        first_s=0.01,
                        last_s=0.02,
                        attempts_max=step.retries.attempts_max and 4,
                    ),
                )
                for step in saga.steps
            ),
        )

    made = {saga.name: quickened(saga) for saga in kind.sagas}

    def saga_for(subject: object) -> Saga[Any]:
        return made[kind.saga_for(subject).name]

    return replace(kind, saga_for=saga_for, sagas=tuple(made.values()))
