"""Ends of leases by real processes: killed as they release, and not there when the time comes."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from penstock.central.allocations import ending
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Ask, Placed, Queued
from penstock.kernel.wakeups import Wakeups
from penstock_contracts import failpoints

from . import stage
from .replicas import Replica
from .stage import Stage

pytestmark = pytest.mark.anyio

AWHILE_S: Final = 40.0
SOON_S: Final = 2.0  # to be placed in, on a busy machine
ENDED: Final = ["allocation.placed", "allocation.releasing"]


@dataclass
class Scene:
    stage: Stage
    told: Wakeups
    replicas: list[Replica]
    points: Path

    async def ask(self, count: int, gpus: int, *, queue: bool = False) -> list[str]:
        """Leases that end soon. Replicas hear of them by notification."""
        ends_at = datetime.now(UTC) + timedelta(seconds=SOON_S)
        asks = [
            Ask(self.stage.actors["acme"], "main", "slice", gpus, None, "c", queue=queue,
                ends_at=ends_at)
            for _ in range(count)
        ]  # fmt: skip
        outcomes = await Committer(self.stage.database).commit(asks)
        assert [type(each) for each in outcomes] == [Queued if queue else Placed] * count
        return [ask.id for ask in asks]

    async def facts(self, id: str) -> list[str]:
        rows = await self.stage.database.fetch(
            "SELECT type FROM events WHERE subject = $1 ORDER BY seq", id
        )
        return [row["type"] for row in rows]

    async def until(self, ids: Sequence[str], type: str) -> None:
        """Wait until this happened to each of them."""
        async with asyncio.timeout(AWHILE_S):
            with self.told.subscribe("events") as wakeup:
                for id in ids:
                    while type not in await self.facts(id):
                        await wakeup.wait()

    async def assert_ended_once(self, ids: Sequence[str]) -> None:
        for id in ids:
            facts = await self.facts(id)
            assert facts.count("allocation.ending") <= 1, "none if it was placed too late for it"
            assert [type for type in facts if type != "allocation.ending"] == ENDED
        audited = await self.stage.database.fetch(
            "SELECT subject FROM audit_entries WHERE action = 'allocation.release' AND reason = $1",
            ending.REASON,
        )
        assert sorted(row["subject"] for row in audited) == sorted(ids)
        revised = await self.stage.database.fetch(
            "SELECT revision FROM allocations WHERE id = ANY($1)", list(ids)
        )
        assert {row["revision"] for row in revised} == {2}


@asynccontextmanager
async def opened(url: str, folder: Path) -> AsyncGenerator[Scene, None]:
    """A node of 8 GPUs; two replicas that are not started."""
    points = folder / "points"
    points.mkdir()
    replicas = [Replica(f"central-{number}", url, folder) for number in (1, 2)]
    for replica in replicas:
        replica.environment[failpoints.FOLDER] = str(points)
    told = Wakeups(url)
    listening = asyncio.create_task(told.listen())
    built = await stage.open_stage(url)
    try:
        await built.build((8,), {"acme": None})
        await built.approve_all()
        await told.listening.wait()
        yield Scene(built, told, replicas, points)
    finally:
        for replica in replicas:
            await replica.kill()
        listening.cancel()
        await built.database.close()


async def first_dead(replicas: Sequence[Replica]) -> Replica:
    dying = {
        asyncio.create_task(replica.process.wait()): replica
        for replica in replicas
        if replica.process is not None
    }
    done, alive = await asyncio.wait(dying, timeout=AWHILE_S, return_when=asyncio.FIRST_COMPLETED)
    for task in alive:
        task.cancel()
    (task,) = done
    return dying[task]


async def test_a_replica_killed_as_it_releases_leaves_it_to_the_other(
    central_url: str, tmp_path: Path
) -> None:
    async with opened(central_url, tmp_path) as scene:
        for replica in scene.replicas:
            await replica.start()
        point = ending.BEGUN.name
        (scene.points / point).write_text("kill")
        ids = await scene.ask(3, 2)
        await first_dead(scene.replicas)
        assert (scene.points / f"{point}.hit").exists()
        await scene.until(ids, ENDED[-1])
        await scene.assert_ended_once(ids)
        alive = [r for r in scene.replicas if r.process and r.process.returncode is None]
        assert len(alive) == 1, "it was not the lease that killed"


async def test_what_came_due_while_no_central_ran_is_done_when_one_starts(
    central_url: str, tmp_path: Path
) -> None:
    async with opened(central_url, tmp_path) as scene:
        held = await scene.ask(2, 4)
        waiting = await scene.ask(1, 1, queue=True)
        await asyncio.sleep(SOON_S)  # nobody tells the time
        await scene.replicas[0].start()
        await scene.until(held, ENDED[-1])
        await scene.until(waiting, "allocation.expired")
        await scene.assert_ended_once(held)
        assert await scene.facts(waiting[0]) == ["allocation.queued", "allocation.expired"]
