"""Following: what others did to the fleet is learned between batches, without the lock."""

import asyncio

import pytest

from penstock.central import fleet
from penstock.central.nodes import service as nodes
from penstock.central.placement import following
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Placed, Queue
from penstock.central.placement.snapshot import Snapshot
from penstock.kernel import db, invariants, loops
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Database
from penstock.kernel.questions import ask
from penstock.kernel.wakeups import Wakeups
from penstock.placement.model import Fleet, Part

from . import fleet_stage
from .fleet_stage import Stage
from .plane import as_superuser

pytestmark = pytest.mark.anyio


async def place(committer: Committer, stage: Stage, gpus: int) -> Placed:
    (outcome,) = await committer.commit([stage.ask(gpus)])
    assert isinstance(outcome, Placed), outcome
    return outcome


async def violations(database: Database) -> dict[str, int]:
    async with database.transaction() as tx:
        return {i.name: i.violations for i in await invariants.check(tx) if i.violations}


def states(known: Fleet) -> dict[str, object]:
    family = known.family("h100")
    assert family is not None
    return {id: (row.state, row.cohort.traits) for id, row in family.rows.items()}


async def read_and_lose_the_session(snapshot: Snapshot, database: Database, url: str) -> None:
    async with database.look() as tx:
        news = await ask(tx, snapshot.news())
        pid: int = await tx.fetchval("SELECT pg_backend_pid()")
        await as_superuser(url, f"SELECT pg_terminate_backend({pid})")
        await snapshot.borrow(tx, news)


async def test_following_waits_for_no_lock_and_misses_nothing(
    database: Database, central_url: str
) -> None:
    stage = await fleet_stage.build(database, nodes=2)
    one, other = Committer(database), Committer(database)
    patient = await db.connect(central_url, "central")
    for _ in range(4):
        held = await place(one, stage, 4)
        await stage.give_back(held.allocation.id)
        async with patient.locked(fleet.LOCK):
            async with asyncio.timeout(5):
                await other.follow()
        await place(one, stage, 1)
        await other.follow()
        await place(other, stage, 1)
    await patient.close()
    assert await violations(database) == {}
    async with database.transaction() as tx:
        assert await tx.fetchval("SELECT count(*) FROM claims WHERE freed_at IS NULL") == 8


async def test_what_was_followed_is_not_read_again(database: Database) -> None:
    stage = await fleet_stage.build(database, nodes=1)
    snapshot = Snapshot()
    for _ in range(2):
        await place(Committer(database), stage, 1)
        async with database.look() as tx:
            known = await snapshot.borrow(tx, await ask(tx, snapshot.news()))
        snapshot.settle()
        async with database.transaction() as tx:
            assert known.revision == await fleet.revision(tx)
            assert await ask(tx, snapshot.news()) == []


async def test_a_read_that_ends_half_way_applies_nothing(
    database: Database, central_url: str
) -> None:
    """A claim was read of one node, and that another changed; then the session is gone."""
    stage = await fleet_stage.build(database, nodes=2)
    snapshot = Snapshot()
    async with database.look() as tx:
        await snapshot.borrow(tx, await ask(tx, snapshot.news()))
    held = await place(Committer(database), stage, 4)
    (idle,) = stage.nodes.keys() - {held.allocation.node_id}
    async with database.transaction() as tx:
        await nodes.drain(tx, SYSTEM, idle, draining=True, reason="")
    with pytest.raises(db.LOST):  # in one of the ways in which that is noticed
        await read_and_lose_the_session(snapshot, database, central_url)
    async with database.look() as tx:
        known = await snapshot.borrow(tx, await ask(tx, snapshot.news()))
        whole = await Snapshot().borrow(tx, [])
    assert known.holds(Part(str(held.allocation.node_id), held.allocation.slot_ids))
    assert states(known) == states(whole)


async def test_a_replica_that_is_told_of_room_follows_while_nobody_asks(
    database: Database, central_url: str
) -> None:
    stage = await fleet_stage.build(database, nodes=1)
    held = await place(Committer(database), stage, 4)
    idle, told = Committer(database), Wakeups(central_url)
    followed: asyncio.Queue[None] = asyncio.Queue()

    async def follow() -> None:
        await idle.follow()
        followed.put_nowait(None)

    queue = Queue(idle.commit, follow)
    tasks = [
        asyncio.create_task(told.listen()),
        asyncio.create_task(queue.run()),
    ]
    await told.listening.wait()
    tasks.append(asyncio.create_task(loops.keep(following.loop(told, queue.follow))))
    try:
        async with asyncio.timeout(10):
            await followed.get()  # what it begins with
            await stage.give_back(held.allocation.id)
            await followed.get()
            assert len((await queue.submit(stage.ask(4))).allocation.slot_ids) == 4
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert await violations(database) == {}


async def test_a_fleet_that_could_not_be_followed_is_read_by_the_next_batch(
    database: Database,
) -> None:
    stage = await fleet_stage.build(database, nodes=1)
    committer = Committer(database)

    async def fails() -> None:
        raise ConnectionError("the database went away")

    queue = Queue(committer.commit, fails)
    running = asyncio.create_task(queue.run())
    queue.follow()
    assert len((await queue.submit(stage.ask(2))).allocation.slot_ids) == 2
    running.cancel()
