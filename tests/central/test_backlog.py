"""Leases that wait: placed in order when there is room, cancelled, expired, never twice."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.central.allocations import ending, release, store
from penstock.central.allocations.model import Allocation, Status
from penstock.central.nodes import service as nodes
from penstock.central.onboardings import founding
from penstock.central.placement import backlog, receipts, rounds
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Placed, Queue, Queued
from penstock.central.policies import service as policies
from penstock.central.policies.model import Policy
from penstock.central.projects import service as projects
from penstock.central.quotas import service as quotas
from penstock.central.skus import service as skus
from penstock.central.skus.model import Sku
from penstock.kernel import db, loops
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Database
from penstock.kernel.errors import Problem
from penstock.kernel.wakeups import Wakeups
from penstock.placement.model import Shape, WaitsFor
from penstock_contracts.ids import AllocationId, SkuId

from . import fleet_stage
from .line_stage import Clock, Line, violations

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def database(central_url: str, clock: Clock) -> AsyncGenerator[Database, None]:
    opened = await db.connect(central_url, "central", clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
async def line(database: Database) -> AsyncGenerator[Line, None]:
    """One node of 8 GPUs. Whatever a test did, the invariants hold after it."""
    stage = await fleet_stage.build(database, nodes=1)
    yield Line(stage, Committer(database))
    assert await violations(database) == {}


async def test_what_does_not_fit_waits_and_holds_nothing(line: Line) -> None:
    big = await line.hold(4)
    await line.hold(4)
    waiting = await line.queue(2)
    assert (waiting.status, waiting.node_id, waiting.site_id) == (Status.QUEUED, None, None)
    assert waiting.wait.estimate is not None
    assert waiting.wait.estimate.position == 1
    assert waiting.wait.estimate.waits_for is WaitsFor.LEASES
    assert [each.allocation_id for each in waiting.wait.estimate.leases] == [big.id]
    assert waiting.reason == "waits for leases to end"
    assert await line.get(waiting.id) == waiting, "what was answered is what is kept"
    async with line.stage.database.transaction() as tx:
        orders = await tx.fetchval("SELECT count(*) FROM feed_entries WHERE key = $1", waiting.id)
        held = await quotas.held(tx, [line.stage.tenant_id])
    assert orders == 0, "its site has not heard of it, for it has none"
    assert held == {line.stage.tenant_id: 8}
    assert await line.facts(waiting.id) == ["allocation.queued"]


async def test_room_goes_to_those_who_wait_in_order(line: Line) -> None:
    held = [await line.hold(4), await line.hold(4)]
    first, second, urgent = (
        await line.queue(3), await line.queue(2), await line.queue(3, priority=50 - 1)
    )  # fmt: skip
    await line.stage.give_back(held[0].id)
    await line.round()
    assert await line.statuses(first, second, urgent) == ["placed", "queued", "queued"]
    placed = await line.get(first.id)
    assert placed.node_id == held[0].node_id
    assert len(placed.slot_ids) == 3
    assert placed.placed_at is not None
    assert placed.wait.estimate is None
    assert await line.facts(first.id) == ["allocation.queued", "allocation.placed"]
    async with line.stage.database.transaction() as tx:
        assert await tx.fetchval("SELECT 1 FROM feed_entries WHERE key = $1", first.id)
        assert (await receipts.get(tx, SYSTEM, first.id))["node"] == placed.node_id
    await line.stage.give_back(held[1].id)
    await line.round()
    assert await line.statuses(second, urgent) == ["placed", "placed"]


async def test_asking_now_is_no_way_around_the_line(line: Line) -> None:
    held = await line.hold(1)
    head = await line.queue(8, "metal")
    (refused,) = await line.ask(line.stage.ask(1))
    assert isinstance(refused, Problem)
    assert refused.code == "sku_unavailable"
    assert "kept for those who wait" in refused.detail
    assert refused.suggestion is not None
    assert "queue" in refused.suggestion
    (urgent,) = await line.ask(
        line.stage.ask(1, priority=51, actor=Actor("key", "k", "admin", line.stage.tenant_id))
    )
    assert isinstance(urgent, Placed), "one of higher priority goes before the head"
    for lease in (held, urgent.allocation):
        await line.stage.give_back(lease.id)
    await line.round()
    assert await line.statuses(head) == ["placed"]


async def test_a_kept_node_survives_a_restart(line: Line, database: Database) -> None:
    await line.hold(1)
    head = await line.queue(8, "metal")
    assert (await line.get(head.id)).wait.kept_nodes == tuple(line.stage.nodes)
    (refused,) = await Committer(database).commit([line.stage.ask(1)])
    assert isinstance(refused, Problem), "another replica keeps it too"


async def test_what_can_never_fit_is_refused_though_it_would_wait(line: Line) -> None:
    async with line.stage.database.transaction() as tx:
        sku = Sku(SkuId.new(), "huge", Shape.GPU_SLICE, "h100", (9,), 1, "USD", tx.now)
        await skus.create(tx, SYSTEM, sku)
    (refused,) = await line.ask(line.stage.ask(9, "huge", queue=True))
    assert isinstance(refused, Problem)
    assert refused.code == "sku_unavailable"
    assert "never" in refused.detail


async def test_a_wait_is_cancelled_at_once_and_nothing_was_held(line: Line) -> None:
    await line.hold(4)
    await line.hold(4)
    waiting = await line.queue(2)
    cancelled = await line.cancel(waiting.id)
    assert (cancelled.status, cancelled.reason) == (Status.RELEASED, "cancelled while waiting")
    assert (await line.get(waiting.id)).status is Status.RELEASED
    assert (await line.cancel(waiting.id)).revision == cancelled.revision, "again changes nothing"
    await line.round()
    assert await line.statuses(waiting) == ["released"]
    assert await line.facts(waiting.id) == ["allocation.queued", "allocation.cancelled"]
    async with line.stage.database.transaction() as tx:
        assert await tx.fetchval("SELECT count(*) FROM usage_segments") == 0


async def test_a_cancellation_that_is_under_way_is_waited_for(
    line: Line, database: Database
) -> None:
    held = await line.hold(4)
    await line.hold(4)
    waiting = await line.queue(2)
    await line.stage.give_back(held.id)
    async with asyncio.timeout(10):
        async with database.transaction() as tx:
            await release.release(tx, SYSTEM, waiting.id)
            deciding = asyncio.create_task(line.round())
            while not await tx.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                pass  # the database tells nobody who waits for a lock
        await deciding
    assert await line.statuses(waiting) == ["released"]


async def test_when_the_head_is_cancelled_those_behind_it_go(line: Line) -> None:
    await line.hold(1)
    head, small = await line.queue(8, "metal"), await line.queue(2)
    assert small.reason == "waits for its turn"
    await line.cancel(head.id)
    await line.round()
    assert await line.statuses(small) == ["placed"]


async def test_whoever_waited_too_long_expires_and_is_not_placed(line: Line, clock: Clock) -> None:
    held = await line.hold(4)
    await line.hold(4)
    short, long = await line.queue(2, queue_for_s=60), await line.queue(2, queue_for_s=3600)
    clock.pass_by(seconds=59)
    await line.round()
    assert await line.statuses(short, long) == ["queued", "queued"]
    await line.stage.give_back(held.id)
    clock.pass_by(seconds=1)
    await line.round()
    expired = await line.get(short.id)
    assert (expired.status, expired.reason) == (Status.EXPIRED, "no room came while it waited")
    assert await line.statuses(long) == ["placed"]
    assert await line.facts(short.id) == ["allocation.queued", "allocation.expired"]
    assert (await line.cancel(short.id)).status is Status.EXPIRED


async def test_a_planned_end_gives_a_time_until_it_has_passed(line: Line, clock: Clock) -> None:
    ends_at = clock.now + timedelta(minutes=10)
    held = await line.hold(4, ends_at=ends_at)
    await line.hold(4)
    waiting = await line.queue(3)
    assert waiting.wait.estimate is not None
    assert waiting.wait.estimate.at == ends_at
    assert [each.allocation_id for each in waiting.wait.estimate.leases] == [held.id]
    clock.pass_by(minutes=10)
    await line.stage.database.run(lambda tx: ending.act(tx, timedelta()))
    assert await line.statuses(held) == ["releasing"], "and its cleanup is not proven"
    await line.round()
    late = (await line.get(waiting.id)).wait.estimate
    assert late is not None
    assert late.at is None


async def test_quota_is_waited_for_unless_it_can_never_be_enough(database: Database) -> None:
    stage = await fleet_stage.build(database, nodes=2, gpu_limit=4)
    line = Line(stage, Committer(database))
    held = await line.hold(3)
    waiting = await line.queue(2)
    assert waiting.reason.startswith("waits for quota")
    (refused,) = await line.ask(stage.ask(8, "metal", queue=True))
    assert isinstance(refused, Problem)
    assert refused.code == "quota_exceeded"
    await line.hold(1)
    await stage.give_back(held.id)
    await line.round()
    assert await line.statuses(waiting) == ["placed"]
    assert await violations(database) == {}


async def test_a_queue_has_an_end(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "QUEUED_MAX", 2)
    await line.hold(4)
    await line.hold(4)
    await line.queue(1)
    outcomes = await line.ask(*(line.stage.ask(1, queue=True) for _ in range(2)))
    assert isinstance(outcomes[0], Queued)
    assert isinstance(outcomes[1], Problem)
    assert outcomes[1].code == "queue_full"


async def test_a_repeated_ask_is_the_same_wait(line: Line) -> None:
    await line.hold(4)
    await line.hold(4)
    ask = line.stage.ask(2, queue=True, key="k", fingerprint=b"f")
    first, again = (await line.ask(ask))[0], (await line.ask(ask))[0]
    same = replace(ask, id=AllocationId.new())
    (replayed,) = await line.ask(same)
    assert isinstance(first, Queued)
    assert isinstance(again, Queued)
    assert isinstance(replayed, Queued)
    assert replayed.replayed
    assert {first.allocation.id, again.allocation.id, replayed.allocation.id} == {ask.id}


async def test_a_wait_for_one_site_stays_at_that_site(line: Line) -> None:
    held = await line.hold(4)
    await line.hold(4)
    waiting = await line.queue(2, site=line.stage.site_id)
    assert waiting.wait.asked_site_id == line.stage.site_id
    await line.stage.give_back(held.id)
    await line.round()
    assert (await line.get(waiting.id)).site_id == line.stage.site_id


async def test_an_undrained_node_takes_who_waits(line: Line, database: Database) -> None:
    (node,) = line.stage.nodes
    async with database.transaction() as tx:
        await nodes.drain(tx, SYSTEM, node, draining=True, reason="")
    waiting = await line.queue(2)
    assert waiting.reason.startswith("waits for capacity")
    async with database.transaction() as tx:
        await nodes.drain(tx, SYSTEM, node, draining=False, reason="")
    await line.round()
    assert await line.statuses(waiting) == ["placed"]


async def test_replicas_that_decide_at_once_place_nothing_twice(
    line: Line, central_url: str, clock: Clock
) -> None:
    other = await db.connect(central_url, "central", clock=clock)
    replicas = [line.committer, Committer(other), Committer(other)]
    asked = Committer(other)
    held = [await line.hold(4), await line.hold(4)]
    waiting: list[Allocation] = []
    for _ in range(12):
        clock.pass_by(seconds=1)
        waiting.append(await line.queue(1))
    for lease in held:
        await line.stage.give_back(lease.id)
        async with asyncio.timeout(30):
            await asyncio.gather(
                *(replica.commit([]) for replica in replicas),
                *(line.cancel(lease.id) for lease in waiting[10:]),
                asked.commit([line.stage.ask(1)]),
            )
    await other.close()
    statuses = await line.statuses(*waiting)
    assert statuses[10:] == ["released"] * 2
    assert statuses[:10].count("placed") == 8
    async with line.stage.database.transaction() as tx:
        live = await tx.fetchval("SELECT count(*) FROM claims WHERE freed_at IS NULL")
        twice = await tx.fetch(
            "SELECT subject FROM events WHERE type = 'allocation.placed' "
            "GROUP BY subject HAVING count(*) > 1"
        )
    assert (live, twice) == (8, [])


async def test_nudges_place_who_waits_and_end_waits_in_time(central_url: str) -> None:
    """By the real clock: told of room by the change log, of an expiry by a timer."""
    database = await db.connect(central_url, "central")
    stage = await fleet_stage.build(database, nodes=1)
    queue, told = Queue(Committer(database).commit), Wakeups(central_url)
    tasks = [
        asyncio.create_task(told.listen()),
        asyncio.create_task(queue.run()),
    ]
    both = rounds.both(database, told, queue.decide)
    tasks += [asyncio.create_task(loops.keep(loop)) for loop in both]
    try:
        async with asyncio.timeout(20):
            await told.listening.wait()
            held = await queue.submit(stage.ask(4))
            await queue.submit(stage.ask(4))
            waiting = await queue.submit(stage.ask(2, queue=True))
            brief = await queue.submit(stage.ask(4, queue=True, queue_for_s=1))
            with told.subscribe("events") as wakeup:
                while await status(database, brief.allocation.id) != "expired":
                    await wakeup.wait()
                await stage.give_back(held.allocation.id)
                while await status(database, waiting.allocation.id) != "placed":
                    await wakeup.wait()
                # Another head is cancelled, and the one behind it goes.
                head = await queue.submit(stage.ask(8, "metal", queue=True))
                small = await queue.submit(stage.ask(1, queue=True))
                assert isinstance(small, Queued)
                async with database.transaction(tenant=stage.tenant_id) as tx:
                    member = Actor("key", "k", "member", stage.tenant_id)
                    await release.release(tx, member, head.allocation.id)
                while await status(database, small.allocation.id) != "placed":
                    await wakeup.wait()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert await violations(database) == {}
        await database.close()


async def status(database: Database, id: str) -> str:
    async with database.transaction() as tx:
        return (await store.get(tx, id)).status


async def test_a_round_that_fails_is_tried_again(central_url: str) -> None:
    database = await db.connect(central_url, "central")
    stage = await fleet_stage.build(database, nodes=1)
    committer = Committer(database)
    await committer.commit([stage.ask(4), stage.ask(4), stage.ask(1, queue=True)])
    decided = 0
    again = asyncio.Event()

    async def decide() -> None:
        nonlocal decided
        decided += 1
        if decided == 1:
            raise RuntimeError("once")
        again.set()

    told = Wakeups(central_url)
    on_room, _ = rounds.both(database, told, decide)
    running = asyncio.create_task(loops.keep(on_room))
    async with asyncio.timeout(10):
        await again.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await database.close()


async def test_a_tenant_of_more_weight_is_placed_before_one_that_holds_as_much(
    line: Line, database: Database
) -> None:
    """Both hold four GPUs; without a weight the older one would be placed."""
    async with database.transaction() as tx:
        heavy = await founding.create(tx, SYSTEM, name="heavy")
        await projects.create(tx, SYSTEM, name="main", tenant=heavy.id)
        await policies.put(tx, SYSTEM, heavy.id, Policy(heavy.id, weight=3), None)
    actor = Actor("key", "k", "member", heavy.id)
    await line.hold(4)
    await line.hold(4, actor=actor)
    # Neither is a head, which would keep its turn: one that waits before them is.
    head = await line.queue(8, "metal")
    older, younger = await line.queue(2), await line.queue(2, actor=actor)
    for place, lease in enumerate((head, younger, older), start=1):
        estimate = (await line.get(lease.id)).wait.estimate
        assert estimate is not None
        assert estimate.position == place
