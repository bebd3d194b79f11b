"""A platform that ages: leases made, run, released and proven clean, month after month.

Time is not waited for: who trims is told which moment was a month ago. Nodes are not asked for
their proofs (`freeing`); all else is central's own code.
"""

import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import asyncpg

from penstock.central import retention
from penstock.central.audit.exporter import Exporter
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import BATCH_MAX, Ask, Placed
from penstock.central.settings import CentralSettings
from penstock.central.sites import service as sites
from penstock.kernel import authority, db, feed, wakeups
from penstock.kernel.db import Database
from penstock.kernel.feed import Outbox
from penstock.kernel.objects import Objects
from penstock.kernel.retention import Kind
from penstock_contracts.ids import AllocationId

from . import freeing, mix
from .stage import Fleet

HELD = 512  # leases that run at any time
FILLED = 4  # months, after which as much goes as comes
USED = """
    INSERT INTO usage_segments (allocation_id, tenant_id, project_id, sku_id, gpus,
        price_micros_per_gpu_hour, currency, during, end_known_at)
    SELECT id, tenant_id, project_id, sku_id, gpus, price_micros_per_gpu_hour, currency,
        tstzrange(placed_at, $2, '[)'), $2
    FROM allocations WHERE id = ANY($1)
"""


@dataclass(frozen=True)
class Age:
    """How it is after some months."""

    leases: int  # ever
    bytes: int  # of the database
    usage_bytes: int  # of that, what is kept for ever
    start_s: float  # a replica that knows nothing, to its first claim
    leases_per_s: float  # placed


class Ageing:
    def __init__(self, fleet: Fleet, database: Database, site: str, kinds: Sequence[Kind]) -> None:
        self._fleet = fleet
        self._database = database
        self._feed = sites.orders(site)  # pyright: ignore[reportArgumentType] # as it is stored
        self._kinds = kinds  # empty: nothing is ever trimmed
        self._outbox = Outbox(database, wakeups.Wakeups(fleet.url), self._feed)
        self._committer = Committer(database)
        self._rng = random.Random(7)
        self._held: list[AllocationId] = []
        self.leases = 0
        self.rates: list[float] = []  # of each month: leases placed per second
        self._spent_s = 0.0

    async def month(self, batches: int) -> None:
        before, self._spent_s = self.leases, 0.0
        for _ in range(batches):
            await self._place(BATCH_MAX)
            await self._end(len(self._held) - HELD)
        self.rates.append((self.leases - before) / self._spent_s)

    async def _place(self, count: int) -> None:
        asks = [self._ask() for _ in range(count)]
        started = time.perf_counter()
        outcomes = await self._committer.commit(asks)
        self._spent_s += time.perf_counter() - started
        placed = [each.allocation.id for each in outcomes if isinstance(each, Placed)]
        self._held += placed
        self.leases += len(placed)

    def _ask(self) -> Ask:
        wish = mix.wish(self._rng)
        return Ask(self._fleet.actor, self._fleet.project, wish.sku, wish.gpus, None, "bench")

    async def _end(self, count: int) -> None:
        """The first come, the first gone; its site has heard of it."""
        going, self._held = self._held[:count], self._held[count:]
        async with self._database.transaction() as tx:
            await freeing.free(tx, going)
            await tx.execute(USED, going, tx.now)
            for id in going if self._kinds else ():
                feed.append(tx, self._feed, b"gone", key=id, last=True)
        await self._outbox.acknowledge(await self._outbox.head())

    async def trim(self, before: datetime) -> None:
        for kind in self._kinds:
            while (await kind.trim(before)).more:
                pass

    async def vacuum(self) -> None:
        """As autovacuum does by itself in a month that lasts a month."""
        owner = await asyncpg.connect(self._fleet.owner_url)
        await owner.execute("VACUUM (ANALYZE)")
        await owner.close()

    async def look(self) -> Age:
        """How large it all is, and what a start takes; placing, in the best of the last months."""
        owner = await asyncpg.connect(self._fleet.owner_url)
        size: int = await owner.fetchval("SELECT pg_database_size(current_database())")
        usage: int = await owner.fetchval("SELECT pg_total_relation_size('usage_segments')")
        await owner.close()
        return Age(self.leases, size, usage, await self._start_s(), max(self.rates[-FILLED:]))

    async def _start_s(self) -> float:
        """The best of some: it is short."""
        return min([await self._first_claim_s() for _ in range(5)])

    async def _first_claim_s(self) -> float:
        started = time.perf_counter()
        (outcome,) = await Committer(self._database).commit([self._ask()])
        took = time.perf_counter() - started
        if isinstance(outcome, Placed):
            self._held.append(outcome.allocation.id)
        return took


async def live(fleet: Fleet, months: int, batches: int, *, trimming: bool) -> tuple[Age, Age]:
    """When what is kept for a month has filled up, and been vacuumed; and at the end."""
    database = await db.connect(fleet.url, "central", size=4)
    try:
        with tempfile.TemporaryDirectory() as folder:
            return await _live(fleet, database, Path(folder), (months, batches), trimming)
    finally:
        await database.close()


async def _live(
    fleet: Fleet, database: Database, folder: Path, size: tuple[int, int], trimming: bool
) -> tuple[Age, Age]:
    months, batches = size
    root, objects = authority.load_or_create_root(folder), Objects((folder / "evidence").as_uri())
    settings = CentralSettings.model_validate({"database_url": fleet.url, "data": folder})
    trimmer = retention.trimmer(database, settings, objects, root.key)
    exporter = Exporter(database, objects, root.key)
    (row,) = await database.fetch("SELECT id FROM sites")
    ageing = Ageing(fleet, database, row["id"], trimmer.kinds if trimming else ())
    ends: list[datetime] = []
    ages: list[Age] = []
    for month in range(months):
        await ageing.month(batches)
        await exporter.catch_up()
        ends.append((await database.fetch("SELECT now() AS now"))[0]["now"])
        if month:
            await ageing.trim(ends[month - 1])
        await ageing.vacuum()
        if month + 1 in (FILLED, months):
            ages.append(await ageing.look())
    first, last = ages
    return first, last
