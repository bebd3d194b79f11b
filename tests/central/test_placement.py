"""The batch commit: several replicas, stale fleets and lost connections, and no slot held twice."""

import asyncio
import random
from collections.abc import Sequence

import pytest

from penstock.central.allocations import store as allocations
from penstock.central.nodes import service as nodes
from penstock.central.placement import queue as queues
from penstock.central.placement.commit import ATTEMPTS_MAX, Committer
from penstock.central.placement.queue import Ask, Outcome, Placed, Queue
from penstock.kernel import db, invariants
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Database
from penstock.kernel.errors import Conflict, Problem, Unavailable
from penstock.kernel.http.problems import render

from . import cutting_proxy, fleet_stage
from .fleet_stage import Stage
from .plane import as_superuser

pytestmark = pytest.mark.anyio


async def violations(database: Database) -> dict[str, int]:
    async with database.transaction() as tx:
        return {i.name: i.violations for i in await invariants.check(tx) if i.violations}


def placed(outcome: Outcome) -> Placed:
    assert isinstance(outcome, Placed), outcome
    return outcome


def code(outcome: Outcome) -> str:
    assert isinstance(outcome, Problem)
    return outcome.code


async def test_two_replicas_and_eight_clients_never_hold_a_slot_twice(
    database: Database, central_url: str
) -> None:
    stage = await fleet_stage.build(database, nodes=8)
    other = await db.connect(central_url, "central")
    replicas = [Queue(Committer(database).commit), Queue(Committer(other).commit)]
    running = [asyncio.create_task(replica.run()) for replica in replicas]
    leased = refused = 0

    async def client(number: int) -> None:
        nonlocal leased, refused
        rng = random.Random(number)
        held: list[str] = []
        for _ in range(14):
            metal = rng.random() < 0.15
            ask = stage.ask(8, "metal") if metal else stage.ask(rng.randint(1, 4))
            try:
                held.append((await replicas[rng.randrange(2)].submit(ask)).allocation.id)
                leased += 1
            except Conflict as refusal:
                refused += refusal.code == "sku_unavailable"
            if held and rng.random() < 0.5:
                await stage.give_back(held.pop(rng.randrange(len(held))))

    async with asyncio.timeout(60):
        await asyncio.gather(*(client(number) for number in range(8)))
    for task in running:
        task.cancel()
    await other.close()
    assert leased > 40
    assert 0 < refused == 8 * 14 - leased
    assert await violations(database) == {}
    async with database.transaction() as tx:
        early = await tx.fetch(
            """
            SELECT slot_id FROM (
                SELECT slot_id, claimed_at, lag(freed_at) OVER by_fence AS freed_before,
                    row_number() OVER by_fence AS place FROM claims
                WINDOW by_fence AS (PARTITION BY slot_id ORDER BY fence)) AS claim
            WHERE place > 1 AND (freed_before IS NULL OR claimed_at < freed_before)
            """
        )
        used = "SELECT max(times) FROM (SELECT count(*) AS times FROM claims GROUP BY slot_id)"
        reused = await tx.fetchval(f"{used} AS use")
    assert early == [], "fences grow, and a claim begins only after the one before it ended"
    assert reused > 2


async def test_one_batch_answers_each_ask_by_itself(database: Database) -> None:
    stage = await fleet_stage.build(database, nodes=1, gpu_limit=7)
    asks = [
        stage.ask(4),
        stage.ask(1, project="nothing"),
        stage.ask(1, sku="nothing"),
        stage.ask(1, site="nowhere"),
        stage.ask(2, key="k", fingerprint=b"f"),
        stage.ask(2, key="k", fingerprint=b"f"),
        stage.ask(4),
        stage.ask(1),
        stage.ask(2, key="k", fingerprint=b"another"),
        stage.ask(1),
    ]
    outcomes = await Committer(database).commit(asks)
    assert [
        len(o.allocation.slot_ids) if isinstance(o, Placed) else code(o) for o in outcomes
    ] == [
        4, "not_found", "unknown_sku", "unknown_site", 2, 2, "quota_exceeded", 1,
        "idempotency_key_reused", "quota_exceeded",
    ]  # fmt: skip
    assert placed(outcomes[4]).allocation.id == placed(outcomes[5]).allocation.id
    slots = [slot for at in (0, 4, 7) for slot in placed(outcomes[at]).allocation.slot_ids]
    assert len(set(slots)) == 7
    assert await violations(database) == {}


async def test_a_fleet_that_is_stale_is_noticed_and_planned_again(
    database: Database, central_url: str
) -> None:
    """Claims that came without a word in the change log: the index refuses, the plan is redone."""
    stage = await fleet_stage.build(database, nodes=1)
    committer = Committer(database)
    (first,) = await committer.commit([stage.ask(1)])
    known = placed(first).allocation
    (unknown,) = await committer.commit([stage.ask(1, project="nothing")])
    assert code(unknown) == "not_found", "and its fleet has read the log to the end"
    async with database.transaction() as tx:
        await tx.execute(
            """
            INSERT INTO allocations
            SELECT (jsonb_populate_record(a, jsonb_build_object('id', 'alloc_x', 'gpus', 6,
                'slot_ids', ARRAY(SELECT id FROM slots WHERE kind = 'gpu' AND id <> ALL($1)
                    ORDER BY index LIMIT 6)))).* FROM allocations a
            """,
            list(known.slot_ids),
        )
    await as_superuser(
        central_url,
        """
        SET session_replication_role = replica;
        INSERT INTO claims (slot_id, fence, allocation_id, tenant_id, node_id, claimed_at)
        SELECT unnest(slot_ids), 65536, id, tenant_id, node_id, now() FROM allocations
        WHERE id = 'alloc_x'
        """,
    )
    async with database.transaction() as tx:
        left: str = await tx.fetchval(
            "SELECT id FROM slots WHERE kind = 'gpu' AND id NOT IN (SELECT slot_id FROM claims)"
        )
    (second,) = await committer.commit([stage.ask(1)])
    assert placed(second).allocation.slot_ids == (left,)
    (third,) = await committer.commit([stage.ask(1)])
    assert code(third) == "sku_unavailable"
    assert await violations(database) == {}


async def test_another_replicas_leases_and_releases_are_seen(database: Database) -> None:
    stage = await fleet_stage.build(database, nodes=1)
    one, other = Committer(database), Committer(database)
    (whole,) = await one.commit([stage.ask(8, "metal")])
    (refused,) = await other.commit([stage.ask(1)])
    assert code(refused) == "sku_unavailable"
    await stage.give_back(placed(whole).allocation.id)
    (slice_,) = await other.commit([stage.ask(1)])
    assert placed(slice_)
    (refused,) = await one.commit([stage.ask(8, "metal")])
    assert code(refused) == "sku_unavailable"


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_connection_lost_around_the_commit_is_answered_once(
    database: Database, central_url: str, when: str
) -> None:
    stage = await fleet_stage.build(database, nodes=1)
    async with cutting_proxy.between(central_url) as proxy:
        through = await db.connect(proxy.url, "central")
        committer = Committer(through)
        proxy.armed = when
        asks = [stage.ask(2, key="k", fingerprint=b"f"), stage.ask(1)]
        async with asyncio.timeout(20):
            outcomes = await committer.commit(asks)
            assert proxy.cuts == 1
            assert [placed(outcome).allocation.id for outcome in outcomes] == [
                ask.id for ask in asks
            ]
            (replayed,) = await committer.commit([stage.ask(2, key="k", fingerprint=b"f")])
            assert placed(replayed).allocation.id == asks[0].id
            (third,) = await committer.commit([stage.ask(4)])
        held = [slot for o in (*outcomes, third) for slot in placed(o).allocation.slot_ids]
        assert len(set(held)) == 7
        await through.close()
    async with database.transaction() as tx:
        assert await tx.fetchval("SELECT count(*) FROM allocations") == 3
        assert await tx.fetchval("SELECT count(*) FROM claims") == 7
    assert await violations(database) == {}


async def test_too_many_waiting_requests_are_told_to_come_back() -> None:
    stuck = asyncio.Event()

    async def commit(asks: Sequence[Ask]) -> Sequence[Outcome]:
        await stuck.wait()
        return [Unavailable("stopped")] * len(asks)

    stage = Stage(None, None, None, {})  # pyright: ignore[reportArgumentType] # only asks are made
    queue = Queue(commit)
    waiting = [asyncio.create_task(queue.submit(stage.ask())) for _ in range(queues.WAITING_MAX)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable) as refused:
        await queue.submit(stage.ask())
    answer = render(refused.value, "c")
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_who_gave_up_before_the_batch_is_not_placed(database: Database) -> None:
    stage = await fleet_stage.build(database, nodes=1)
    queue = Queue(Committer(database).commit)
    gone = asyncio.create_task(queue.submit(stage.ask(4)))
    stays = asyncio.create_task(queue.submit(stage.ask(1)))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    running = asyncio.create_task(queue.run())
    assert len((await stays).allocation.slot_ids) == 1
    running.cancel()
    async with database.transaction() as tx:
        assert await tx.fetchval("SELECT count(*) FROM allocations") == 1


async def test_who_waited_too_long_for_a_batch_is_told_and_not_placed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = await fleet_stage.build(database, nodes=1)
    queue = Queue(Committer(database).commit)
    monkeypatch.setattr(queues, "WAIT_S_MAX", 0.01)
    with pytest.raises(Unavailable, match="ask again with the same Idempotency-Key"):
        await queue.submit(stage.ask(4))  # nobody runs it
    monkeypatch.undo()
    stays = asyncio.create_task(queue.submit(stage.ask(1)))
    running = asyncio.create_task(queue.run())
    assert len((await stays).allocation.slot_ids) == 1
    running.cancel()
    async with database.transaction() as tx:
        assert await tx.fetchval("SELECT count(*) FROM allocations") == 1


# Whoever claims a slot finds that somebody else just did, behind the fleet's log; each time.
ALWAYS_LATE = """
    CREATE SEQUENCE attempts;
    GRANT ALL ON attempts TO PUBLIC;
    CREATE FUNCTION be_first() RETURNS trigger
        LANGUAGE plpgsql SECURITY DEFINER SET session_replication_role = replica AS $$
    BEGIN
        PERFORM nextval('attempts');
        INSERT INTO claims (slot_id, fence, allocation_id, tenant_id, node_id, claimed_at)
        SELECT NEW.slot_id, NEW.fence + 1, a.id, a.tenant_id, a.node_id, NEW.claimed_at
        FROM allocations a WHERE a.node_id = NEW.node_id AND a.id <> NEW.allocation_id LIMIT 1;
        RETURN NEW;
    END $$;
    CREATE TRIGGER be_first BEFORE INSERT ON claims
        FOR EACH ROW WHEN (pg_trigger_depth() = 1) EXECUTE FUNCTION be_first();
"""


async def test_after_so_many_conflicts_it_is_said_and_the_next_batch_goes_on(
    database: Database, central_url: str
) -> None:
    stage = await fleet_stage.build(database, nodes=1)
    queue = Queue(Committer(database).commit)
    running = asyncio.create_task(queue.run())
    await queue.submit(stage.ask(1))
    (node,) = stage.nodes
    await drain(database, node, draining=True)
    waits = await queue.submit(stage.ask(1, queue=True))
    await drain(database, node, draining=False)
    await as_superuser(central_url, ALWAYS_LATE)
    for work in (queue.submit(stage.ask(1)), queue.decide()):
        with pytest.raises(Unavailable, match="changes too quickly") as refused:
            await work
        answer = render(refused.value, "c")
        assert (answer.status_code, int(answer.headers["retry-after"]) >= 1) == (503, True)
    tried = await database.fetch("SELECT last_value FROM attempts")
    assert tried[0]["last_value"] == 2 * ATTEMPTS_MAX
    await as_superuser(central_url, "DROP TRIGGER be_first ON claims")
    placed(await queue.submit(stage.ask(1)))
    async with database.transaction() as tx:
        assert (await allocations.get(tx, waits.allocation.id)).placed_at, "it was its turn"
    live = await database.fetch("SELECT FROM claims WHERE freed_at IS NULL")
    assert len(live) == 3, "nothing of what was tried is left"
    assert await violations(database) == {}
    running.cancel()


async def drain(database: Database, node: str, *, draining: bool) -> None:
    async with database.transaction() as tx:
        await nodes.drain(tx, SYSTEM, node, draining=draining, reason="")
