"""A lease whose end is set: warned of it once, released when it comes, not placed after it."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta

import pytest

from penstock.central.allocations import deadlines, ending, store
from penstock.central.allocations.model import Allocation, Desired, Status
from penstock.central.placement import rounds
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Queue
from penstock.kernel import db, loops
from penstock.kernel.db import Database
from penstock.kernel.wakeups import Wakeups

from . import fleet_stage
from .line_stage import Clock, Line, violations

pytestmark = pytest.mark.anyio

WARNING = timedelta(minutes=15)
HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> Clock:
    """No earlier than the database's: an invariant asks that one who has outlived its end."""
    return Clock(datetime.now(UTC))


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


async def act(database: Database, warning: timedelta = WARNING) -> float:
    """What a timer does when it rings; in how many seconds it is to ring again."""
    return await database.run(lambda tx: ending.act(tx, warning))


async def test_a_lease_is_released_at_its_end_and_warned_once_before(
    line: Line, database: Database, clock: Clock
) -> None:
    lease = await line.hold(2, ends_at=clock.now + HOUR)
    other = await line.hold(2)
    assert await act(database) == ending.LOOK_S_MAX, "its warning is 45 minutes away"
    clock.pass_by(minutes=44)
    assert await act(database) == pytest.approx(60, abs=0.01)
    assert await line.facts(lease.id) == ["allocation.placed"]
    clock.pass_by(minutes=1)
    for _ in range(2):
        assert await act(database) == ending.LOOK_S_MAX, "its end is 15 minutes away"
        assert await line.facts(lease.id) == ["allocation.placed", "allocation.ending"]
    clock.pass_by(minutes=15)
    for _ in range(2):
        assert await act(database) == ending.LOOK_S_MAX, "no other lease has an end"
        assert await line.statuses(lease, other) == ["releasing", "placed"]
    assert (await line.get(lease.id)).revision == 2
    await line.stage.give_back(lease.id)
    assert await line.statuses(lease) == ["released"]
    assert [type for type in await line.facts(lease.id) if type.startswith("allocation.")] == [
        "allocation.placed", "allocation.ending", "allocation.releasing", "allocation.released",
    ]  # fmt: skip


async def test_who_ended_it_and_why_is_in_the_audit_log_and_the_event(
    line: Line, database: Database, clock: Clock
) -> None:
    lease = await line.hold(2, ends_at=clock.now + HOUR)
    clock.pass_by(hours=1)
    await act(database)
    async with database.transaction() as tx:
        audited = await tx.fetchrow(
            "SELECT actor, reason, tenant_id, correlation_id FROM audit_entries"
            " WHERE subject = $1 AND action = 'allocation.release'",
            lease.id,
        )
        told = await tx.fetchrow(
            "SELECT data, tenant_id, correlation_id FROM events"
            " WHERE subject = $1 AND type = 'allocation.releasing'",
            lease.id,
        )
    assert audited is not None
    assert told is not None
    whose = (lease.tenant_id, lease.correlation_id)
    assert tuple(audited) == ("system:central", "its end was reached", *whose)
    assert tuple(told) == ({"by": "system:central", "reason": "its end was reached"}, *whose)


async def test_the_warning_says_when_to_its_tenant(
    line: Line, database: Database, clock: Clock
) -> None:
    ends_at = clock.now + timedelta(minutes=10)
    lease = await line.hold(2, ends_at=ends_at)
    assert await act(database) == ending.LOOK_S_MAX
    async with database.transaction(tenant=line.stage.tenant_id) as tx:
        data = await tx.fetchval("SELECT data FROM events WHERE type = 'allocation.ending'")
    assert data["project"] == lease.project_id
    assert datetime.fromisoformat(data["ends_at"]) == ends_at, "at once: the lease is that short"


async def test_without_a_warning_it_is_released_all_the_same(
    line: Line, database: Database, clock: Clock
) -> None:
    """Central was down from before the warning until after the end; or wants no warnings."""
    late = await line.hold(2, ends_at=clock.now + HOUR)
    clock.pass_by(hours=2)
    await act(database)
    unwarned = await line.hold(2, ends_at=clock.now + HOUR)
    clock.pass_by(minutes=59)
    assert await act(database, timedelta()) == pytest.approx(60, abs=0.01)
    clock.pass_by(minutes=1)
    await act(database, timedelta())
    for lease in (late, unwarned):
        assert await line.facts(lease.id) == ["allocation.placed", "allocation.releasing"]


async def test_who_released_before_the_end_hears_no_more_of_it(
    line: Line, database: Database, clock: Clock
) -> None:
    lease = await line.hold(2, ends_at=clock.now + HOUR)
    await line.cancel(lease.id)
    clock.pass_by(hours=1)
    await act(database)
    assert await line.facts(lease.id) == ["allocation.placed", "allocation.releasing"]
    assert (await line.get(lease.id)).revision == 2


async def test_who_still_waits_at_its_end_expires_and_is_not_placed(
    line: Line, database: Database, clock: Clock
) -> None:
    held = await line.hold(4)
    await line.hold(4)
    waiting = await line.queue(2, ends_at=clock.now + HOUR)
    assert waiting.wait.expires_at == waiting.wait.ends_at, "it waits no longer"
    clock.pass_by(minutes=59)
    await act(database)
    await line.round()
    assert await line.facts(waiting.id) == ["allocation.queued"], "it has nothing to be warned of"
    await line.stage.give_back(held.id)
    clock.pass_by(minutes=1)
    await act(database)
    await line.round()
    expired = await line.get(waiting.id)
    assert (expired.status, expired.reason) == (Status.EXPIRED, "no room came before its end")
    assert await line.facts(waiting.id) == ["allocation.queued", "allocation.expired"]
    async with database.transaction() as tx:
        reason = await tx.fetchval(
            "SELECT reason FROM audit_entries WHERE action = 'allocation.expire'"
        )
    assert reason.endswith(", its end")


async def test_who_waited_and_was_placed_is_warned_and_released(
    line: Line, database: Database, clock: Clock
) -> None:
    held = await line.hold(4)
    await line.hold(4)
    waiting = await line.queue(2, ends_at=clock.now + HOUR)
    clock.pass_by(minutes=50)
    await line.stage.give_back(held.id)
    await line.round()
    await act(database)
    clock.pass_by(minutes=10)
    await act(database)
    assert await line.facts(waiting.id) == [
        "allocation.queued", "allocation.placed", "allocation.ending", "allocation.releasing",
    ]  # fmt: skip


async def test_many_ends_at_once_are_done_in_batches(
    line: Line, database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "BATCH", 2)
    leases = [await line.hold(1, ends_at=clock.now + HOUR) for _ in range(5)]
    clock.pass_by(minutes=45)
    assert [await act(database) for _ in range(3)] == [0.0, 0.0, ending.LOOK_S_MAX]
    clock.pass_by(minutes=15)
    assert [await act(database) for _ in range(3)] == [0.0, 0.0, ending.LOOK_S_MAX]
    assert await line.statuses(*leases) == ["releasing"] * 5


async def test_what_another_holds_is_left_to_it_and_looked_at_again(
    line: Line, database: Database, clock: Clock
) -> None:
    lease = await line.hold(2, ends_at=clock.now + HOUR)
    clock.pass_by(hours=1)
    async with asyncio.timeout(10), database.transaction() as tx:
        await store.lock(tx, lease.id)
        assert await act(database) == ending.HELD_S
    assert await line.statuses(lease) == ["placed"]
    assert await act(database) == ending.LOOK_S_MAX
    assert await line.statuses(lease) == ["releasing"]


async def test_replicas_that_act_at_once_tell_and_release_once(
    line: Line, database: Database, clock: Clock, central_url: str
) -> None:
    other = await db.connect(central_url, "central", clock=clock)
    leases = [await line.hold(1, ends_at=clock.now + HOUR) for _ in range(8)]
    for minutes in (45, 15):
        clock.pass_by(minutes=minutes)
        async with asyncio.timeout(30):
            await asyncio.gather(*(act(each) for each in (database, other) * 4))
            await act(other)  # what was held by one that had nothing left to do
    await other.close()
    for lease in leases:
        assert await line.facts(lease.id) == [
            "allocation.placed", "allocation.ending", "allocation.releasing",
        ]  # fmt: skip
        assert (await line.get(lease.id)).revision == 2


async def test_an_end_beside_its_release_by_its_tenant_is_one_release(
    line: Line, database: Database, clock: Clock
) -> None:
    leases = [await line.hold(1, ends_at=clock.now + HOUR) for _ in range(8)]
    clock.pass_by(hours=1)
    async with asyncio.timeout(30):
        await asyncio.gather(
            *(act(database) for _ in range(3)), *(line.cancel(lease.id) for lease in leases)
        )
    released: list[Allocation] = [await line.get(lease.id) for lease in leases]
    assert {(a.desired, a.revision) for a in released} == {(Desired.RELEASED, 2)}


async def test_the_database_lets_nobody_wait_beyond_its_end(
    line: Line, database: Database, clock: Clock
) -> None:
    await line.hold(4)
    await line.hold(4)
    waiting = await line.queue(2, ends_at=clock.now + HOUR)
    with pytest.raises(Exception, match="waits_no_longer_than_its_end"):
        async with database.transaction() as tx:
            await tx.execute(
                "UPDATE allocations SET expires_at = ends_at + interval '1 s' WHERE id = $1",
                waiting.id,
            )


async def test_timers_are_told_of_an_earlier_end(central_url: str) -> None:
    """By the real clock, with two timers: placed after both went to sleep, and ended in time."""
    database = await db.connect(central_url, "central")
    stage = await fleet_stage.build(database, nodes=1)
    queue, told = Queue(Committer(database).commit), Wakeups(central_url)
    tasks = [
        asyncio.create_task(told.listen()),
        asyncio.create_task(queue.run()),
        *(
            asyncio.create_task(loops.keep(loop))
            for loop in (
                *rounds.both(database, told, queue.decide),
                ending.loop(database, told, WARNING),
                ending.loop(database, told, WARNING),
            )
        ),
    ]
    try:
        async with asyncio.timeout(20):
            await told.listening.wait()
            now = datetime.now(UTC)
            late = await queue.submit(stage.ask(4, ends_at=now + 2 * HOUR))
            soon = await queue.submit(
                stage.ask(4, ends_at=datetime.now(UTC) + timedelta(seconds=3))
            )
            brief = await queue.submit(
                stage.ask(1, queue=True, ends_at=datetime.now(UTC) + timedelta(seconds=3))
            )
            with told.subscribe("events") as wakeup:
                for id, status in ((soon, Status.RELEASING), (brief, Status.EXPIRED)):
                    while (await get(database, id.allocation.id)).status is not status:
                        await wakeup.wait()
            assert (await get(database, late.allocation.id)).status is Status.PLACED
            async with database.transaction() as tx:
                types = await tx.fetch(
                    "SELECT type FROM events WHERE subject = $1 ORDER BY seq", soon.allocation.id
                )
                next_s = await deadlines.next_in_s(tx, WARNING)
            assert [row["type"] for row in types] == [
                "allocation.placed", "allocation.ending", "allocation.releasing",
            ], "warned at once, for it is short"  # fmt: skip
            assert next_s is not None
            assert next_s > ending.LOOK_S_MAX
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert await violations(database) == {}
        await database.close()


async def get(database: Database, id: str) -> Allocation:
    async with database.transaction() as tx:
        return await store.get(tx, id)
