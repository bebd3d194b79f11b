"""Gangs in the batch commit: all or nothing, whoever races, waits, or is cut off."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from penstock.central import fleet
from penstock.central.allocations import ending, members, store
from penstock.central.allocations.model import Allocation
from penstock.central.events import CATALOGUE
from penstock.central.nodes import service as nodes
from penstock.central.placement.answers import Unplaced
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Placed, Queued
from penstock.kernel import db
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Database
from penstock.kernel.errors import Conflict, PaymentRequired
from penstock_contracts.ids import AllocationId, NodeId

from . import fleet_stage
from .line_stage import Clock, Line, violations
from .plane import as_superuser

pytestmark = pytest.mark.anyio
HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime.now(UTC))


@pytest.fixture
async def database(central_url: str, clock: Clock) -> AsyncGenerator[Database, None]:
    """Whatever a test did, the invariants hold after it."""
    opened = await db.connect(central_url, "central", clock=clock, catalogue=CATALOGUE)
    yield opened
    assert await violations(opened) == {}
    await opened.close()


async def line_of(database: Database, nodes: int, **limits: int) -> Line:
    return Line(await fleet_stage.build(database, nodes=nodes, **limits), Committer(database))


async def gang_of(line: Line, id: AllocationId) -> list[Allocation]:
    async with line.stage.database.transaction() as tx:
        return await members.of(tx, id)


async def whole(line: Line, nodes: int, **changes: object) -> Allocation:
    return await line.hold(8, "metal", nodes=nodes, **changes)


async def count(database: Database) -> int:
    (row,) = await database.fetch("SELECT count(*) FROM allocations")
    return int(row[0])


async def test_two_replicas_race_for_the_last_nodes_and_one_gang_has_them(
    database: Database,
) -> None:
    stage = await fleet_stage.build(database, nodes=3)
    replicas = [Committer(database), Committer(database)]
    for _ in range(4):
        asks = [stage.ask(8, "metal", nodes=2) for _ in replicas]
        told = await asyncio.gather(
            *(replica.commit([ask]) for replica, ask in zip(replicas, asks, strict=True))
        )
        won = [one for (one,) in told if isinstance(one, Placed)]
        assert len(won) == 1, told
        assert len(won[0].members) == 2
        for member in won[0].members:
            await stage.give_back(member.id)
        assert await violations(database) == {}


@pytest.mark.parametrize("seed", range(2))
async def test_gangs_among_others_are_whole_or_not_there(database: Database, seed: int) -> None:
    """Three replicas, gangs beside single nodes and slices, some waiting, and what ends."""
    rng = random.Random(seed)
    stage = await fleet_stage.build(database, nodes=6)
    replicas = [Committer(database) for _ in range(3)]
    sizes = Counter[int]()
    for _ in range(10):
        batches = [
            [
                stage.ask(8, "metal", nodes=rng.randint(1, 4), queue=rng.random() < 0.2)
                if rng.random() < 0.7
                else stage.ask(rng.randint(1, 4))
                for _ in range(rng.randint(1, 3))
            ]
            for _ in replicas
        ]
        await asyncio.gather(
            *(replica.commit(batch) for replica, batch in zip(replicas, batches, strict=True))
        )
        assert await violations(database) == {}
        held = await database.fetch(
            "SELECT id, nodes FROM allocations WHERE freed_at IS NULL AND placed_at IS NOT NULL"
            " AND desired = 'active' AND (gang_id IS NULL OR nodes > 1) ORDER BY id"
        )
        for row in held:
            sizes[row["nodes"]] += 1
            if rng.random() < 0.7:
                for member in await _all(database, row["id"]):
                    await stage.give_back(member)
    assert 1 in sizes, sizes
    assert max(sizes) > 1, "whoever comes first decides which gangs fit"


async def _all(database: Database, id: str) -> list[str]:
    rows = await database.fetch(
        "SELECT id FROM allocations WHERE id = $1 OR gang_id = $1 ORDER BY id", id
    )
    return [row["id"] for row in rows]


async def test_who_asks_for_more_nodes_in_one_batch_has_more(database: Database) -> None:
    line = await line_of(database, 3)
    one, two = await line.ask(line.stage.ask(8, "metal"), line.stage.ask(8, "metal", nodes=2))
    assert isinstance(one, Placed)
    assert isinstance(two, Placed)
    assert (len(one.members), len(two.members)) == (0, 2)
    assert (one.allocation.gang_id, two.allocation.gang_id) == (None, two.allocation.id)


async def test_it_is_placed_on_the_fewest_leaves(database: Database) -> None:
    line = await line_of(database, 5)
    first, *others = sorted(line.stage.nodes)
    leaves = {first: "leaf-a", **dict(zip(others, ("leaf-b",) * 3 + ("leaf-c",), strict=True))}
    async with database.transaction() as tx:
        await fleet.lock(tx)
        for id, leaf in leaves.items():
            await tx.execute("UPDATE nodes SET leaf_assigned = $2 WHERE id = $1", id, leaf)
        await fleet.changed(tx, *map(NodeId, leaves))
    lease = await whole(line, 3)
    assert {member.node_id for member in await gang_of(line, lease.id)} == set(others[:3])


async def test_quotas_and_balances_are_for_all_of_it(database: Database) -> None:
    line = await line_of(database, 3, gpu_limit=16)
    (refused,) = await line.ask(line.stage.ask(8, "metal", nodes=3))
    assert isinstance(refused, Conflict)
    assert refused.code == "quota_exceeded"
    assert await count(database) == 0
    first, second = await line.ask(
        line.stage.ask(8, "metal", nodes=2), line.stage.ask(8, "metal", nodes=2)
    )
    assert isinstance(first, Placed)
    assert isinstance(second, Conflict), "the first of the batch took all"
    assert second.code == "quota_exceeded"
    held = await database.fetch("SELECT gpus, nodes FROM gpus_held")
    assert [tuple(row) for row in held] == [(16, 2)]


async def test_a_balance_that_pays_for_some_of_it_pays_for_none(database: Database) -> None:
    line = await line_of(database, 2)
    async with database.transaction() as tx:
        await tx.execute(
            "INSERT INTO balances SELECT id, 'USD', 15 FROM tenants WHERE id = $1",
            line.stage.tenant_id,
        )
        await tx.execute(
            "INSERT INTO credits (id, tenant_id, amount_micros, currency, reason, created_by,"
            " created_at) SELECT 'credit_x', id, 15, 'USD', '', '', now() FROM tenants"
        )
    (refused,) = await line.ask(line.stage.ask(8, "metal", nodes=2))
    assert isinstance(refused, PaymentRequired), refused
    assert refused.extras["needed_micros"] == 16
    assert isinstance((await line.ask(line.stage.ask(8, "metal")))[0], Placed)


async def test_it_waits_for_room_for_all_and_is_placed_whole(database: Database) -> None:
    line = await line_of(database, 3)
    held = [await line.hold(8, "metal") for _ in range(2)]
    waiting = await line.queue(8, "metal", nodes=3)
    assert (waiting.nodes, waiting.gang_id) == (3, waiting.id)
    assert await count(database) == 3, "who waits is one row, whatever it waits for"
    await line.stage.give_back(held[0].id)
    await line.round()
    assert await line.statuses(waiting) == ["queued"], "two of three are free: it takes neither"
    (slice,) = await line.ask(line.stage.ask(1))
    assert not isinstance(slice, Placed), "what is free is kept for it"
    await line.stage.give_back(held[1].id)
    await line.round()
    gang = await gang_of(line, waiting.id)
    assert [member.status for member in gang] == ["placed"] * 3
    assert (gang[0].id, gang[0].nodes) == (waiting.id, 3)
    assert {member.node_id for member in gang} == set(line.stage.nodes)
    assert "gang.placed" in await line.facts(waiting.id)


async def test_who_waits_in_vain_expires_or_is_cancelled_whole(
    database: Database, clock: Clock
) -> None:
    line = await line_of(database, 2)
    await line.hold(1)
    late = await line.queue(8, "metal", nodes=2, queue_for_s=60)
    given_up = await line.queue(8, "metal", nodes=2)
    assert (await line.cancel(given_up.id)).status == "released"
    clock.pass_by(minutes=2)
    await line.round()
    assert await line.statuses(late, given_up) == ["expired", "released"]


async def test_all_end_when_its_end_comes_and_one_warning_is_given(
    database: Database, clock: Clock
) -> None:
    line = await line_of(database, 3)
    lease = await whole(line, 3, ends_at=clock.now + HOUR)
    clock.pass_by(minutes=50)
    await database.run(lambda tx: ending.act(tx, HOUR / 4))
    assert (await line.facts(lease.id)).count("allocation.ending") == 1
    clock.pass_by(minutes=10)
    for _ in range(2):
        assert await database.run(lambda tx: ending.act(tx, HOUR / 4)) == ending.LOOK_S_MAX
    gang = await gang_of(line, lease.id)
    assert [(member.status, member.revision) for member in gang] == [("releasing", 2)] * 3


async def test_an_end_passes_over_a_gang_that_another_transaction_holds(
    database: Database, clock: Clock
) -> None:
    """A report about any member holds the lead, so nobody waits for one member with others held."""
    line = await line_of(database, 2)
    lease = await whole(line, 2, ends_at=clock.now + HOUR)
    last = (await gang_of(line, lease.id))[-1]
    clock.pass_by(hours=1)
    async with database.transaction() as other:
        await store.lock(other, last.id)
        assert await database.run(lambda tx: ending.act(tx, HOUR / 4)) == ending.HELD_S
    await database.run(lambda tx: ending.act(tx, HOUR / 4))
    assert await line.statuses(lease, last) == ["releasing", "releasing"]


async def test_a_commit_whose_answer_was_lost_finds_its_gang(database: Database) -> None:
    line = await line_of(database, 4)
    ask = line.stage.ask(8, "metal", nodes=2)
    (first,) = await line.ask(ask)
    assert isinstance(first, Placed)
    async with database.transaction() as tx:
        again = await members.leases(tx, [first.allocation])
    assert again[0].members == first.members
    # Its id is taken when it is placed again: the first attempt was cut off after its commit.
    (second,) = await Committer(database).commit([ask])
    assert isinstance(second, Placed), second
    assert [m.id for m in second.members] == [m.id for m in first.members]
    assert await count(database) == 2


async def test_the_database_ends_no_transaction_with_part_of_a_gang(database: Database) -> None:
    line = await line_of(database, 3)
    lease = await whole(line, 3)
    lead, one, _ = await gang_of(line, lease.id)
    alone = await line.ask(line.stage.ask(8, "metal"))
    assert isinstance(alone[0], Unplaced | Conflict)
    torn = (
        f"UPDATE allocations SET desired = 'released' WHERE id = '{one.id}'",
        f"UPDATE allocations SET desired = 'released' WHERE id = '{lead.id}'",
    )
    for sql in torn:
        with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="members alike"):
            async with database.transaction() as tx:
                await tx.execute(sql)
    for sql in (
        f"UPDATE allocations SET gang_id = NULL WHERE id = '{one.id}'",
        f"UPDATE allocations SET nodes = 2 WHERE id = '{lead.id}'",
    ):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="cannot move"):
            async with database.transaction() as tx:
                await tx.execute(sql)


async def test_a_member_that_was_left_out_undoes_the_batch(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: the gang's last member is made, and not made one of it."""
    line = await line_of(database, 3)
    bind = members.bind

    async def forget_one(tx: db.Tx, made: list[Allocation]) -> None:
        await bind(tx, made[:-1])

    with monkeypatch.context() as planted:
        planted.setattr(members, "bind", forget_one)
        with pytest.raises(
            asyncpg.IntegrityConstraintViolationError, match="2 members alike, not 3"
        ):
            await line.ask(line.stage.ask(8, "metal", nodes=3))
    assert await count(database) == 0
    assert (await whole(line, 3)).nodes == 3, "the fleet is read anew, and the nodes are free"


async def test_torn_gangs_are_found(database: Database, central_url: str) -> None:
    line = await line_of(database, 3)
    lease = await whole(line, 3)
    _, one, other = await gang_of(line, lease.id)
    for sql, undo in (
        (f"SET desired = 'released' WHERE id = '{one.id}'", "SET desired = 'active'"),
        (f"SET gang_id = NULL WHERE id = '{other.id}'", f"SET gang_id = '{lease.id}'"),
        (f"SET gang_id = 'alloc_x' WHERE id = '{one.id}'", f"SET gang_id = '{lease.id}'"),
        (
            f"SET project_id = 'project_x' WHERE id = '{one.id}'",
            f"SET project_id = '{lease.project_id}'",
        ),
        (f"SET failed_reason = 'broke' WHERE id = '{one.id}'", "SET failed_reason = ''"),
    ):
        for change in (sql, undo):
            await as_superuser(
                central_url,
                f"SET session_replication_role = replica; UPDATE allocations {change}",
            )
            found = await violations(database)
            assert ("gang_torn" in found) is (change is sql), (change, found)


async def test_what_was_drained_is_no_room_for_a_gang(database: Database) -> None:
    line = await line_of(database, 3)
    async with database.transaction() as tx:
        await nodes.drain(tx, SYSTEM, next(iter(line.stage.nodes)), draining=True, reason="")
    (refused,) = await line.ask(line.stage.ask(8, "metal", nodes=3))
    assert isinstance(refused, Conflict)
    (queued,) = await line.ask(line.stage.ask(8, "metal", nodes=3, queue=True))
    assert isinstance(queued, Queued)
    assert isinstance((await line.ask(line.stage.ask(8, "metal", nodes=2)))[0], Conflict | Placed)
