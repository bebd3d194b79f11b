"""What a host holds is compared with what its node should hold, and central hears of it once."""

from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta

import pytest

from penstock.kernel import db
from penstock.kernel.db import Database, Tx
from penstock.kernel.wakeups import Wakeups
from penstock.site import health
from penstock.site.discrepancies import model
from penstock.site.discrepancies import service as discrepancies
from penstock.site.discrepancies.model import Discrepancy, Held, Kind
from penstock.site.nodes import store
from penstock.site.nodes.model import Node
from penstock.site.tasks import holdings
from penstock.site.tasks import service as tasks
from penstock.site.tasks.model import Expected, Standing
from penstock.site.tasks.service import Tasks
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.identity import PrivateKey
from penstock_contracts.ids import AllocationId, NodeId
from penstock_contracts.wire_pb2 import Signed, SiteReport, Task, TaskResult

pytestmark = pytest.mark.anyio

SLOTS = {"slot_a": 7, "slot_b": 7}


class Place:
    """A site with one node, which answers what a test tells it to."""

    def __init__(self, database: Database, node: Node, key: PrivateKey, ordered: Tasks) -> None:
        self.database = database
        self.node = node
        self.key = key
        self.tasks = ordered

    async def ask(self, task: Task) -> Task:
        task.node_id = self.node.id
        await self.database.run(lambda tx: self.tasks.ask(tx, task))
        return task

    async def provision(self, id: str) -> Task:
        return await self.ask(Task(task_id=f"provision:{id}", provision=lease(id)))

    async def release(self, id: str, attempt: int = 1) -> Task:
        return await self.ask(Task(task_id=f"release:{id}:{attempt}", release=lease(id)))

    async def answer(self, task_id: str, **output: object) -> None:
        result = TaskResult(
            task_id=task_id,
            node_id=self.node.id,
            status=wire.TASK_STATUS_DONE,
            **output,  # pyright: ignore[reportArgumentType] # one of its outputs
        )
        body = self.key.sign(result.SerializeToString()).SerializeToString()

        async def take(tx: Tx) -> None:
            taken = tasks.verified(self.node.id, self.node.public_key, body)
            if not taken.task_id:
                await health.said(tx, self.tasks, taken, body)
            elif await tasks.finish(tx, taken, body):
                await discrepancies.answered(tx, self.tasks, self.node.id, taken)

        await self.database.run(take)

    async def up(self, id: str) -> None:
        task = await self.provision(id)
        await self.answer(task.task_id, runtime=wire.RuntimeUp(allocation_id=id))

    async def asked(self) -> str:
        """The question of what the host holds that waits for its answer; empty if none does."""
        rows = await self.database.fetch(
            "SELECT id FROM tasks WHERE id LIKE 'holds:%' AND result IS NULL ORDER BY id"
        )
        assert len(rows) <= 1
        return rows[0]["id"] if rows else ""

    async def connect(self) -> None:
        await self.database.run(lambda tx: discrepancies.ask(tx, self.tasks, self.node.id))

    async def holds(self, *held: wire.Holding) -> None:
        """Answer what was asked, and what is asked because of that."""
        while task_id := await self.asked():
            await self.answer(task_id, holds=wire.HostHolds(holdings=held))

    async def told(self) -> list[list[tuple[str, str]]]:
        rows = await self.database.fetch(
            "SELECT body FROM feed_entries WHERE feed = 'central' ORDER BY seq"
        )
        reports: Sequence[SiteReport] = [SiteReport.FromString(row["body"]) for row in rows]
        return [
            [(wire.DiscrepancyKind.Name(one.kind)[17:], one.allocation_id) for one in said.found]
            for said in (
                report.discrepancies for report in reports if report.HasField("discrepancies")
            )
        ]


def lease(id: str) -> wire.LeaseTask:
    slots = [wire.SlotBinding(slot_id=slot, fence=fence) for slot, fence in SLOTS.items()]
    return wire.LeaseTask(allocation_id=id, shape=wire.SHAPE_GPU_SLICE, slots=slots)


def holding(id: str, runtime: str = "vm-1", fence: int = 7) -> wire.Holding:
    slots = [wire.SlotFence(slot_id=slot, fence=fence) for slot in SLOTS]
    return wire.Holding(allocation_id=id, runtime_id=runtime, slots=slots)


@pytest.fixture
async def place(site_url: str) -> AsyncGenerator[Place, None]:
    database = await db.connect(site_url, "site")
    key = PrivateKey.generate()
    node = Node(NodeId.new(), "n", key.public())

    async def add(tx: Tx) -> None:
        assert await store.add(tx, node)

    await database.run(add)
    ordered = Tasks(
        database, Wakeups(site_url), PrivateKey.generate(), deadline=timedelta(minutes=1)
    )
    yield Place(database, node, key, ordered)
    await database.close()


@pytest.fixture
def id() -> str:
    return AllocationId.new()


async def expected(place: Place) -> dict[str, Standing]:
    found = await place.database.run(lambda tx: holdings.of_node(tx, place.node.id))
    assert all(dict(one.slots) == SLOTS for one in found.values())
    return {id: one.standing for id, one in found.items()}


async def test_what_a_node_should_hold_follows_from_its_tasks(place: Place, id: str) -> None:
    task = await place.provision(id)
    assert await expected(place) == {id: Standing.COMING}
    await place.answer(task.task_id, runtime=wire.RuntimeUp(allocation_id=id))
    assert await expected(place) == {id: Standing.HELD}
    first = await place.release(id)
    assert await expected(place) == {id: Standing.GOING}
    await place.answer(first.task_id, cleanup=wire.Cleanup(allocation_id=id))
    assert await expected(place) == {}


async def test_an_answer_after_the_release_does_not_make_it_held(place: Place, id: str) -> None:
    task = await place.provision(id)
    await place.release(id)
    await place.answer(task.task_id, runtime=wire.RuntimeUp(allocation_id=id))
    assert await expected(place) == {id: Standing.GOING}


async def test_a_host_that_holds_its_leases_is_not_mentioned(place: Place, id: str) -> None:
    await place.up(id)
    await place.connect()
    await place.holds(holding(id))
    assert await place.told() == []


async def test_a_lease_that_is_not_held_is_told_once_and_cleared_by_its_release(
    place: Place, id: str
) -> None:
    await place.up(id)
    for _ in range(3):
        await place.connect()
        await place.holds()
    assert await place.told() == [[("NOT_HELD", id)]]
    task = await place.release(id)
    await place.answer(task.task_id, cleanup=wire.Cleanup(allocation_id=id))
    assert await place.asked(), "a difference may be gone: the host is asked again"
    await place.holds()
    assert await place.told() == [[("NOT_HELD", id)], []]


async def test_a_runtime_that_nobody_leases_is_told(place: Place, id: str) -> None:
    await place.connect()
    await place.holds(holding(id))
    assert await place.told() == [[("NOT_LEASED", id)]]
    await place.connect()
    await place.holds(holding(id, runtime=""))
    assert await place.told() == [[("NOT_LEASED", id)], []], "what is only dirty is no runtime"


async def test_a_runtime_on_other_slots_is_told(place: Place, id: str) -> None:
    await place.up(id)
    await place.connect()
    await place.holds(holding(id, fence=6))
    assert await place.told() == [[("OTHER_SLOTS", id)]]


async def test_what_changed_while_the_host_was_looked_at_is_not_told(place: Place, id: str) -> None:
    task = await place.provision(id)
    await place.connect()
    asked = await place.asked()
    await place.answer(task.task_id, runtime=wire.RuntimeUp(allocation_id=id))
    await place.answer(asked, holds=wire.HostHolds())  # it looked before, and answers after
    assert await place.asked()
    await place.holds(holding(id))
    assert await place.told() == []


async def test_what_is_under_way_is_no_discrepancy(place: Place, id: str) -> None:
    await place.provision(id)
    await place.connect()
    await place.holds(holding(id))
    await place.connect()
    await place.holds()
    await place.release(id)
    await place.connect()
    await place.holds(holding(id))
    assert await place.told() == []


async def test_names_that_no_database_can_store_are_told_as_others(place: Place) -> None:
    await place.connect()
    await place.holds(holding("alloc_\x00\n" + "x" * 500))
    assert await place.told() == [[("NOT_LEASED", "alloc_??" + "x" * 120)]]


async def test_health_goes_on_as_the_node_signed_it_and_an_ended_runtime_is_looked_for(
    place: Place, id: str
) -> None:
    hot = wire.Problem(check="gpu.temperature", subject="GPU-1", detail="94 °C")
    await place.answer("", health=wire.HostHealth(problems=[hot]))
    assert await place.asked() == ""
    ended = wire.Problem(check="runtime.running", subject=id)
    await place.answer("", health=wire.HostHealth(problems=[hot, ended]))
    assert await place.asked()
    rows = await place.database.fetch("SELECT body FROM feed_entries WHERE feed = 'central'")
    passed: list[Signed] = [SiteReport.FromString(row["body"]).health for row in rows]
    said = [TaskResult.FromString(one.payload).health for one in passed]
    assert sorted(len(one.problems) for one in said) == [1, 2]


def test_only_what_runs_and_what_is_held_can_differ() -> None:
    due = {
        standing.value: Expected(standing, SLOTS)
        for standing in (Standing.COMING, Standing.HELD, Standing.GOING)
    }
    assert model.differences(due, {}) == {Discrepancy("held", Kind.NOT_HELD, "")}
    there = {id: Held("vm", SLOTS) for id in due}
    assert model.differences(due, there) == set()
    dirty = {"other": Held("", SLOTS), "held": Held("", SLOTS)}
    assert model.differences(due, dirty) == {Discrepancy("held", Kind.NOT_HELD, "")}
