"""Quotas while many lease at once, on two replicas: checked at every single commit."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass

import asyncpg
import pytest
from logins import superuser_url

from penstock.central.balances import service as balances
from penstock.central.organizations import service as organizations
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Queue
from penstock.central.projects import service as projects
from penstock.central.quotas import scopes, store
from penstock.central.quotas import service as quotas
from penstock.central.quotas.model import NODES, TOTAL, Kind, Line, Measure, gpus, spend
from penstock.kernel import db, invariants
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Database
from penstock.kernel.errors import Conflict, Problem
from penstock.kernel.questions import ask

from . import fleet_stage
from .fleet_stage import Stage

pytestmark = pytest.mark.anyio

# Installed by the owner: before each commit that changed what is held or a limit, count the
# lines that are exceeded and the projects whose count is not the truth.
WATCH = """
CREATE TABLE commits (exceeded bigint, untrue bigint);
CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    INSERT INTO commits SELECT (SELECT count(*) FROM invariant_quota_exceeded),
        (SELECT count(*) FROM invariant_gpus_held_out_of_step);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER watch AFTER INSERT OR UPDATE ON gpus_held
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION watch();
CREATE CONSTRAINT TRIGGER watch AFTER INSERT OR UPDATE ON quotas
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION watch();
"""
PROJECTS = {"main": "default", "second": "default", "third": "research"}
EACH = 16  # leases that are asked for in each project, of one GPU
# Where the limit is, how high, and how many leases there can then be in all.
LIMITS: list[tuple[dict[str, str], int, int]] = [
    ({"tenant": "acme"}, 13, 13),
    ({"organization": "default"}, 9, 9 + EACH),
    ({"project": "main"}, 5, 5 + 2 * EACH),
]


@dataclass
class Race:
    stage: Stage
    replicas: list[Queue]
    owner: asyncpg.Connection

    async def lease(self, project: str, gpus: int = 1, sku: str = "slice") -> str | None:
        """The lease's id; None if a quota or the balance forbids it, or there is no room."""
        replica = random.choice(self.replicas)
        try:
            asked = self.stage.ask(gpus, sku, project=project)
            return (await replica.submit(asked)).allocation.id
        except Problem as refusal:
            if refusal.code not in ("quota_exceeded", "balance_too_low", "sku_unavailable"):
                raise
            return None

    async def lease_all(self, gpus: int = 1, sku: str = "slice", each: int = EACH) -> list[str]:
        asked = [self.lease(project, gpus, sku) for project in PROJECTS for _ in range(each)]
        random.shuffle(asked)
        return [id for id in await asyncio.gather(*asked) if id is not None]

    async def limit(self, most: int, measure: Measure, **which: str) -> None:
        """As those who may: the platform for a tenant, its admin behind the wall for the rest."""
        admin = Actor("key", "key_2", "admin", self.stage.tenant_id)
        if "tenant" in which:
            which = {"tenant": self.stage.tenant_id}
        actor = SYSTEM if "tenant" in which else admin
        async with self.stage.database.transaction(tenant=actor.tenant_id) as tx:
            scope = await scopes.find(tx, actor, **which)
            await quotas.set_limit(tx, actor, scope, measure, most)

    async def limit_if_possible(self, rng: random.Random) -> bool:
        which = rng.choice([which for which, _, _ in LIMITS])
        try:
            measure = rng.choice((TOTAL, gpus("h100"), NODES, spend("USD")))
            await self.limit(rng.randint(0, 24), measure, **which)
        except Conflict as refusal:
            if not refusal.code.startswith("quota_"):
                raise
            return False
        return True

    async def project_of(self, id: str) -> str:
        name: str = await self.owner.fetchval(
            "SELECT p.name FROM projects p JOIN allocations a ON a.project_id = p.id "
            "WHERE a.id = $1", id
        )  # fmt: skip
        return name

    async def lines(self, limit: int) -> list[Line]:
        """Those with this limit, with what is used."""
        scopes = [row["scope_id"] for row in await self.owner.fetch("SELECT scope_id FROM quotas")]
        async with self.stage.database.transaction() as tx:
            return [
                line
                for line in await ask(tx, store.limited(tx, scopes, list(Kind)))
                if line.limit == limit
            ]

    async def check(self) -> int:
        """How many commits were watched; nothing may have been wrong at any."""
        seen = await self.owner.fetchrow(
            "SELECT count(*) AS n, sum(exceeded) AS exceeded, sum(untrue) AS untrue FROM commits"
        )
        assert seen is not None
        assert (seen["exceeded"], seen["untrue"]) == (0, 0)
        async with self.stage.database.transaction() as tx:
            broken = {i.name: i.violations for i in await invariants.check(tx) if i.violations}
        assert broken == {}
        return seen["n"]

    async def held(self) -> int:
        held: int = await self.owner.fetchval("SELECT coalesce(sum(gpus), 0)::int FROM gpus_held")
        return held


@pytest.fixture
async def race(central_url: str) -> AsyncGenerator[Race, None]:
    one, other = await db.connect(central_url, "central"), await db.connect(central_url, "central")
    stage = await fleet_stage.build(one, nodes=10)  # room for all that is ever asked for
    await furnish(one, stage)
    owner = await asyncpg.connect(superuser_url(central_url))
    await owner.execute(WATCH)
    replicas = [Queue(Committer(database).commit) for database in (one, other)]
    running = [asyncio.create_task(replica.run()) for replica in replicas]
    yield Race(stage, replicas, owner)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await owner.close()
    await one.close()
    await other.close()


async def furnish(database: Database, stage: Stage) -> None:
    async with database.transaction() as tx:
        await organizations.create(tx, SYSTEM, name="research", tenant=stage.tenant_id)
        for name, organization in PROJECTS.items():
            if name != "main":
                await projects.create(
                    tx, SYSTEM, name=name, tenant=stage.tenant_id, organization=organization
                )


@pytest.mark.parametrize("measure", [TOTAL, gpus("h100")], ids=str)
@pytest.mark.parametrize(("which", "gpus_max", "in_all"), LIMITS)
async def test_exactly_as_many_are_admitted_as_fit_and_what_is_given_back_is_admitted_again(
    race: Race, which: dict[str, str], gpus_max: int, in_all: int, measure: Measure
) -> None:
    await race.limit(gpus_max, measure, **which)
    async with asyncio.timeout(60):
        held = await race.lease_all()
        assert len(held) == in_all == await race.held()
        for id in held[:6]:
            await race.stage.give_back(id)
        assert await race.held() == in_all - 6
        again = await race.lease_all()
    assert len(again) >= 6
    assert [line.used for line in await race.lines(gpus_max)] == [gpus_max]
    assert await race.check() > 10


@pytest.mark.parametrize(("which", "in_all"), [
    ({"tenant": "acme"}, 2), ({"organization": "default"}, 2 + 3), ({"project": "main"}, 2 + 6),
])  # fmt: skip
async def test_exactly_as_many_whole_nodes_are_leased_as_may_be(
    race: Race, which: dict[str, str], in_all: int
) -> None:
    """Three are asked for in each project, of ten: two may be had where it is limited."""
    await race.limit(2, NODES, **which)
    async with asyncio.timeout(60):
        held = await race.lease_all(8, "metal", each=3)
        assert len(held) == in_all
        assert await race.lease("main") is not None, "slices are no whole nodes"
        assert [line.used for line in await race.lines(2)] == [2]
        counted = {"tenant": [*PROJECTS], "organization": ["main", "second"]}
        some = counted.get(next(iter(which)), ["main"])
        named = [(id, await race.project_of(id)) for id in held]
        given_back, project = next((id, name) for id, name in named if name in some)
        await race.stage.give_back(given_back)
        assert [line.used for line in await race.lines(2)] == [1]
        assert await race.lease(project, 8, "metal") is not None
        assert await race.lease(project, 8, "metal") is None
    await race.check()


@pytest.mark.parametrize(("which", "most", "in_all"), LIMITS)
async def test_no_more_are_admitted_than_an_hour_of_which_the_month_may_cost(
    race: Race, which: dict[str, str], most: int, in_all: int
) -> None:
    await race.limit(most, spend("USD"), **which)  # an hour of one GPU costs 1
    async with asyncio.timeout(60):
        held = await race.lease_all()
        assert len(held) == in_all == await race.held()
        assert [line.room for line in await race.lines(most)] == [0]
        for id in held[:6]:
            await race.stage.give_back(id)
        await race.lease_all()
        assert [line.room for line in await race.lines(most)] == [0]
    await race.check()


async def test_no_more_are_admitted_than_the_balance_covers_for_an_hour(race: Race) -> None:
    async with race.stage.database.transaction() as tx:  # an hour of one GPU costs 1
        await balances.credit(
            tx, SYSTEM, race.stage.tenant_id, amount_micros=11, currency="USD", reason="paid"
        )
    async with asyncio.timeout(60):
        held = await race.lease_all()
        assert len(held) == 11 == await race.held()
        for id in held[:4]:
            await race.stage.give_back(id)
        assert len(await race.lease_all()) == 4
    await race.check()


async def test_limits_that_change_while_many_lease_and_release_are_never_exceeded(
    race: Race,
) -> None:
    """Whoever changes a limit and whoever leases take turns, whichever replica they are at."""
    over = asyncio.Event()
    changes = refused = leased = 0

    async def change(number: int) -> None:
        nonlocal changes, refused
        rng = random.Random(number)
        while not over.is_set():
            changed = await race.limit_if_possible(rng)
            changes += changed
            refused += not changed

    async def client(number: int) -> None:
        nonlocal leased
        rng = random.Random(100 + number)
        held: list[str] = []
        for _ in range(25):
            whole = rng.random() < 0.1
            gpus, sku = (8, "metal") if whole else (rng.randint(1, 3), "slice")
            id = await race.lease(rng.choice(list(PROJECTS)), gpus, sku)
            if id is not None:
                leased += 1
                held.append(id)
            if held and rng.random() < 0.6:
                await race.stage.give_back(held.pop(rng.randrange(len(held))))
        for id in held:
            await race.stage.give_back(id)

    async def all_clients(work: Callable[[int], Awaitable[None]]) -> None:
        await asyncio.gather(*(work(number) for number in range(6)))
        over.set()

    async with asyncio.timeout(90):
        await asyncio.gather(all_clients(client), change(1), change(2))
    assert min(changes, refused, leased) > 10, (changes, refused, leased)
    assert await race.check() > leased
    assert await race.held() == 0, "all was given back"
