"""What a month may cost: counted as it is billed, checked at each placement, new each month."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from penstock.central.allocations import release, waiting
from penstock.central.allocations.model import Allocation
from penstock.central.onboardings import founding
from penstock.central.organizations import service as organizations
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Outcome, Placed, Queued
from penstock.central.projects import service as projects
from penstock.central.quotas import scopes
from penstock.central.quotas import service as quotas
from penstock.central.quotas.model import Kind, Level, Line, Scope, spend
from penstock.central.skus import service as skus
from penstock.central.skus.model import Sku
from penstock.kernel import db
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Database
from penstock.kernel.errors import Conflict, Problem
from penstock.placement.model import Shape
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.ids import SkuId

from . import fleet_stage
from .fleet_stage import Stage
from .stand_in_site import desired, fences, on_lease
from .test_backlog import Clock, violations

pytestmark = pytest.mark.anyio

# Leases of the stage cost 1 micro-unit for each GPU and hour. Twelve hours before a month ends.
EVENING = datetime(2026, 2, 28, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass
class Purse:
    """One replica, a clock, and what a tenant spends."""

    stage: Stage
    committer: Committer
    clock: Clock

    async def ask(self, gpus: int, sku: str = "slice", **changes: object) -> Outcome:
        (outcome,) = await self.committer.commit([self.stage.ask(gpus, sku, **changes)])
        return outcome

    async def lease(self, gpus: int, sku: str = "slice", **changes: object) -> Allocation:
        outcome = await self.ask(gpus, sku, **changes)
        assert isinstance(outcome, Placed), outcome
        return outcome.allocation

    async def refused(self, gpus: int, sku: str = "slice", **changes: object) -> Problem:
        outcome = await self.ask(gpus, sku, **changes)
        assert isinstance(outcome, Problem), outcome
        return outcome

    async def observe(
        self, lease: Allocation, seen: "wire.Observed", at: datetime | None = None
    ) -> None:
        if seen == wire.OBSERVED_STOPPING:
            await self.release(lease)
        async with self.stage.database.transaction() as tx:
            body: bytes = await tx.fetchval(
                "SELECT body FROM feed_entries WHERE key = $1", lease.id
            )
        order = desired(body)
        observed = wire.AllocationObserved(
            observed=seen,
            at_us=db.to_us(at or self.clock.now),
            fences=fences(order),
        )
        await self.stage.handle(on_lease(order, observed))

    async def release(self, lease: Allocation) -> None:
        async with self.stage.database.transaction() as tx:
            await release.release(tx, SYSTEM, lease.id)

    async def run(self, gpus: int, hours: float, project: str = "main") -> None:
        """Lease, use for so long, give back."""
        lease = await self.lease(gpus, project=project)
        await self.observe(lease, wire.OBSERVED_ACTIVE)
        self.clock.pass_by(hours=hours)
        await self.observe(lease, wire.OBSERVED_STOPPING)
        await self.stage.give_back(lease.id)

    async def limit(self, micros: int, currency: str = "USD", **which: str) -> Line:
        async with self.stage.database.transaction() as tx:
            scope = await scopes.find(
                tx, SYSTEM, **(which or {"tenant": str(self.stage.tenant_id)})
            )
            return await quotas.set_limit(tx, SYSTEM, scope, spend(currency), micros)

    async def line(self, **which: str) -> tuple[int, int]:
        """What was spent, and what an hour costs."""
        async with self.stage.database.transaction() as tx:
            scope = await scopes.find(
                tx, SYSTEM, **(which or {"tenant": str(self.stage.tenant_id)})
            )
            (found,) = [
                line
                for line in await quotas.lines(tx, SYSTEM, scope)
                if line.measure.kind is Kind.SPEND
            ]
        return found.used, found.due

    async def months(self) -> dict[str, int]:
        async with self.stage.database.transaction() as tx:
            rows = await tx.fetch(
                "SELECT month, sum(micros)::bigint AS n FROM spent GROUP BY 1 ORDER BY 1"
            )
        return {f"{row['month']:%Y-%m}": row["n"] for row in rows}


@pytest.fixture
async def purse(central_url: str) -> AsyncGenerator[Purse, None]:
    """Four nodes of 8 GPUs. Whatever a test did, the invariants hold after it."""
    clock = Clock(EVENING)
    database = await db.connect(central_url, "central", clock=clock)
    stage = await fleet_stage.build(database, nodes=4)
    yield Purse(stage, Committer(database), clock)
    assert await violations(database) == {}
    await database.close()


async def more_projects(database: Database, stage: Stage) -> None:
    """One beside `main`, and one in another organization."""
    async with database.transaction() as tx:
        await projects.create(tx, SYSTEM, name="second", tenant=stage.tenant_id)
        await organizations.create(tx, SYSTEM, name="research", tenant=stage.tenant_id)
        await projects.create(
            tx, SYSTEM, name="third", tenant=stage.tenant_id, organization="research"
        )


async def add_sku(database: Database, name: str, price: int, currency: str) -> None:
    sku = Sku(SkuId.new(), name, Shape.GPU_SLICE, "h100", (1, 2), price, currency, EVENING)
    async with database.transaction() as tx:
        await skus.create(tx, SYSTEM, sku)


async def test_an_hour_of_all_that_lives_and_of_the_new_one_must_fit(purse: Purse) -> None:
    await purse.limit(10)
    for _ in range(2):
        await purse.lease(4)
    refused = await purse.refused(3)
    assert (refused.status, refused.code) == (409, "quota_exceeded")
    wanted = {"kind": "spend", "currency": "USD", "limit": 10, "used": 0, "due": 8, "asked": 3}
    assert {**refused.extras, **wanted} == refused.extras
    assert (refused.extras["left"], refused.extras["scope"]) == (2, "tenant")
    assert "has spent 0.00 of its 0.00001 USD this month" in refused.detail
    assert "wait for the next month" in (refused.suggestion or "")
    await purse.lease(2)
    assert await purse.line() == (0, 10)
    assert (await purse.refused(1)).extras["left"] == 0


async def test_what_runs_counts_until_now_and_what_ended_until_its_end(purse: Purse) -> None:
    await purse.limit(100)
    running = await purse.lease(4)
    await purse.observe(running, wire.OBSERVED_ACTIVE)
    await purse.run(2, hours=3)
    purse.clock.pass_by(minutes=59)
    assert await purse.line() == (6 + 15, 4), "4 × 3:59 h is 15.93: rounded down, as it is billed"
    await purse.observe(running, wire.OBSERVED_STOPPING)
    purse.clock.pass_by(hours=5)
    assert await purse.line() == (6 + 15, 0), "it is over, if not yet clean"
    await purse.stage.give_back(running.id)
    assert await purse.line() == (21, 0)


async def test_usage_over_midnight_is_cut_where_the_months_meet(purse: Purse) -> None:
    await purse.limit(1000)
    ends, runs = await purse.lease(2), await purse.lease(1)
    for lease in (ends, runs):
        await purse.observe(lease, wire.OBSERVED_ACTIVE)
    purse.clock.now = MIDNIGHT - timedelta(microseconds=1)
    assert (await purse.line())[0] == 23 + 11, "a microsecond short of 24 and 12"
    purse.clock.now = MIDNIGHT
    assert (await purse.line())[0] == 0, "a new month"
    purse.clock.pass_by(hours=3)
    assert (await purse.line())[0] == 6 + 3
    await purse.observe(ends, wire.OBSERVED_STOPPING)
    assert await purse.months() == {"2026-02": 24, "2026-03": 6}
    purse.clock.pass_by(days=31)
    await purse.observe(runs, wire.OBSERVED_STOPPING)
    april = 1 * 3  # hours since it began
    assert await purse.months() == {
        "2026-02": 24 + 12, "2026-03": 6 + 31 * 24, "2026-04": april,
    }  # fmt: skip
    assert (await purse.line())[0] == april


async def test_what_is_reported_late_counts_in_the_month_when_it_was(purse: Purse) -> None:
    await purse.limit(1000)
    lease = await purse.lease(4)
    await purse.observe(lease, wire.OBSERVED_ACTIVE)
    purse.clock.now = MIDNIGHT + timedelta(hours=10)
    assert (await purse.line())[0] == 40
    purse.clock.now = MIDNIGHT - timedelta(hours=3)
    await purse.release(lease)
    purse.clock.now = MIDNIGHT + timedelta(hours=10)
    await purse.observe(lease, wire.OBSERVED_STOPPING, at=MIDNIGHT - timedelta(hours=2))
    assert (await purse.line())[0] == 0
    assert await purse.months() == {"2026-02": 40}


async def test_a_lease_that_passes_the_limit_goes_on_and_no_other_comes_before_the_month_ends(
    purse: Purse,
) -> None:
    await purse.limit(8)
    running = await purse.lease(1)
    await purse.observe(running, wire.OBSERVED_ACTIVE)
    purse.clock.pass_by(hours=10)
    assert await purse.line() == (10, 1)
    refused = await purse.refused(1)
    assert (refused.extras["used"], refused.extras["left"]) == (10, 0)
    waits = await purse.ask(1, queue=True, queue_for_s=86_400)
    assert isinstance(waits, Queued), waits
    async with purse.stage.database.transaction() as tx:
        due = await waiting.due(tx)
    assert due.in_s == 2 * 3600, "time alone gives room when the month begins"
    await purse.committer.commit([])
    purse.clock.pass_by(hours=2)
    await purse.committer.commit([])
    assert await purse.line() == (0, 2), "whoever waited is placed"


async def test_more_than_a_month_may_cost_is_not_waited_for(purse: Purse) -> None:
    await purse.limit(2)
    assert (await purse.refused(3, queue=True)).code == "quota_exceeded"


async def test_a_limit_below_what_was_spent_is_refused(purse: Purse) -> None:
    await purse.limit(50)
    await purse.run(4, hours=5)
    running = await purse.lease(2)
    await purse.observe(running, wire.OBSERVED_ACTIVE)
    purse.clock.pass_by(hours=1)
    with pytest.raises(Conflict, match=r"has spent 0\.000022 USD this month") as refusal:
        await purse.limit(21)
    assert refusal.value.code == "quota_below_use"
    assert (refusal.value.extras["used"], refusal.value.extras["limit"]) == (22, 21)
    assert (await purse.limit(22)).limit == 22
    purse.clock.now = MIDNIGHT
    assert (await purse.limit(0)).used == 0, "nothing was spent in this month"


async def test_every_level_counts_its_own_and_no_child_is_above_its_parent(purse: Purse) -> None:
    await more_projects(purse.stage.database, purse.stage)
    await purse.limit(100)
    with pytest.raises(Conflict) as above:
        await purse.limit(101, project="main")
    assert above.value.code == "quota_above_parent"
    await purse.limit(60, organization="default")
    await purse.limit(20, project="second")
    with pytest.raises(Conflict) as below:
        await purse.limit(19, organization="default")
    assert below.value.code == "quota_below_child"
    await purse.limit(500, currency="EUR", project="second")  # another currency is another matter
    await purse.run(4, hours=4)
    await purse.run(1, hours=3, project="second")
    await purse.run(1, hours=1, project="third")
    for gpus, project in ((4, "main"), (2, "third")):
        running = await purse.lease(gpus, project=project)
        await purse.observe(running, wire.OBSERVED_ACTIVE)
    purse.clock.pass_by(hours=1)
    assert await purse.line() == (16 + 3 + 1 + 4 + 2, 6)
    assert await purse.line(organization="default") == (16 + 3 + 4, 4)
    async with purse.stage.database.transaction() as tx:
        scope = await scopes.find(tx, SYSTEM, project="second")
        found = {str(line.measure): line for line in await quotas.lines(tx, SYSTEM, scope)}
    assert [*found] == ["gpus", "spend:EUR", "spend:USD"]
    assert (found["spend:EUR"].used, found["spend:USD"].used) == (0, 3)


async def test_another_currency_is_no_way_around_the_limit(purse: Purse) -> None:
    database = purse.stage.database
    await add_sku(database, "eur", 1, "EUR")
    await add_sku(database, "gift", 0, "EUR")
    await purse.lease(1, sku="eur")
    await purse.limit(3)
    refused = await purse.refused(1, sku="eur")
    assert (refused.status, refused.code) == (409, "currency_mismatch")
    assert refused.extras == {"quota_currency": "USD", "sku_currency": "EUR"}
    await purse.lease(2, sku="gift")
    await purse.lease(3)
    assert await purse.line() == (0, 3), "what is paid in EUR is not in it"
    await purse.lease(1, sku="gift")
    await purse.limit(2, currency="EUR")
    await purse.lease(1, sku="eur")
    assert (await purse.refused(1, sku="eur")).extras["currency"] == "EUR"


async def test_what_others_spend_is_theirs(purse: Purse) -> None:
    async with purse.stage.database.transaction() as tx:
        other = await founding.create(tx, SYSTEM, name="other")
        await projects.create(tx, SYSTEM, name="theirs", tenant=other.id)
        scope = Scope(Level.TENANT, other.id, other.id)
        await quotas.set_limit(tx, SYSTEM, scope, spend("USD"), 0)
    await purse.limit(9)
    await purse.run(2, hours=4)
    async with purse.stage.database.transaction() as tx:
        (line,) = [
            line
            for line in await quotas.lines(tx, SYSTEM, scope)
            if line.measure.kind is Kind.SPEND
        ]
    assert (line.used, line.due) == (0, 0)
    assert await purse.line() == (8, 0)


async def test_whatever_is_done_to_segments_the_count_follows(purse: Purse) -> None:
    """Whoever corrects usage cannot forget what it cost."""
    await purse.run(4, hours=20)
    assert await purse.months() == {"2026-02": 48, "2026-03": 32}
    for sql, expected in (
        ("UPDATE usage_segments SET gpus = 1", {"2026-02": 12, "2026-03": 8}),
        (
            "UPDATE usage_segments SET during = tstzrange(lower(during), lower(during) + '1 h')",
            {"2026-02": 1, "2026-03": 0},
        ),
        ("UPDATE usage_segments SET debited_micros = NULL", {"2026-02": 1, "2026-03": 0}),
    ):
        async with purse.stage.database.transaction() as tx:
            await tx.execute(sql)
        assert await purse.months() == expected, sql
        assert await violations(purse.stage.database) == {}
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with purse.stage.database.transaction() as tx:
            await tx.execute("DELETE FROM usage_segments")


SPANS: list[tuple[datetime, timedelta]] = [
    (MIDNIGHT, timedelta(0)),
    (MIDNIGHT - timedelta(microseconds=1), timedelta(microseconds=1)),
    (MIDNIGHT - timedelta(microseconds=1), timedelta(microseconds=2)),
    (MIDNIGHT, timedelta(days=31)),
    (datetime(2023, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), timedelta(days=366, seconds=1)),
    (datetime(2024, 2, 29, tzinfo=UTC), timedelta(days=1)),
]


@pytest.mark.parametrize(("since", "lasted"), SPANS)
async def test_the_parts_of_all_months_are_all_of_it(
    purse: Purse, since: datetime, lasted: timedelta
) -> None:
    price, gpus = 999_999_999_989, 3
    async with purse.stage.database.transaction() as tx:
        rows = await tx.fetch(
            "SELECT month, micros FROM monthly_costs(tstzrange($1, $2), $3, $4) WHERE micros > 0",
            since,
            since + lasted,
            gpus,
            price,
        )
    assert {row["month"]: row["micros"] for row in rows} == parts(since, lasted, gpus * price)


def parts(since: datetime, lasted: timedelta, hourly: int) -> dict[object, int]:
    """The same, by walking from month to month."""
    found: dict[object, int] = {}
    until = since + lasted
    while since < until:
        first = since.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        end = min(until, (first + timedelta(days=32)).replace(day=1))
        found[first.date()] = (end - since) // timedelta(microseconds=1) * hourly // 3_600_000_000
        since = end
    return {month: micros for month, micros in found.items() if micros}
