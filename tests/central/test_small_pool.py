"""R17: fifty thousand transactions of many tenants on four connections. Some fail, some are
cancelled, some lose their connection; each sees its own tenant's rows, all of them and no other."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import asyncpg
import pytest
import uvloop
from logins import superuser_url

from penstock.kernel import db
from penstock.kernel.db import Database, Tx
from penstock.kernel.pools import Pool
from penstock_contracts.ids import TenantId

TENANTS: Final = 40
TRANSACTIONS: Final = 50_000
CALLERS: Final = 16
CONNECTIONS: Final = 4
# How a transaction ends, and how often.
ENDS: Final = {"commits": 780, "fails": 120, "breaks": 70, "asks unset": 20, "is cancelled": 9,
               "is killed": 1}  # fmt: skip
SEED: Final = """
    WITH t AS (
        INSERT INTO tenants (id, name, created_at) SELECT 't' || n, 't' || n, now()
        FROM generate_series(1, $1) AS n RETURNING id
    ), o AS (
        INSERT INTO organizations SELECT 'o' || id, id, 'default', now() FROM t
        RETURNING id, tenant_id
    )
    INSERT INTO projects SELECT 'p' || n || tenant_id, tenant_id, id, 'p' || n, now()
    FROM o, generate_series(1, 1 + length(tenant_id) % 3) AS n
"""
LOOK: Final = "SELECT array_agg(id) FROM projects"


class Failed(Exception):
    """A request whose transaction is rolled back."""


@dataclass
class Crowd:
    app: Pool
    database: Database
    killer: asyncpg.Connection
    rows: dict[str, set[str]]
    left: int = TRANSACTIONS
    ended: Counter[str] = field(default_factory=Counter[str])

    async def call(self, number: int) -> None:
        """One caller: another tenant each time."""
        rng = random.Random(number)
        while self.left > 0:
            self.left -= 1
            tenant, end = rng.choice([*self.rows]), rng.choices([*ENDS], [*ENDS.values()])[0]
            try:
                await self.run(tenant, end)
            except db.LOST:
                end = "found no connection"  # it was killed under someone else, a moment ago
            self.ended[end] += 1

    async def run(self, tenant: str, end: str) -> None:
        if end == "asks unset":
            async with self.app.session() as session:
                unset = await session.fetchval(LOOK)
            assert unset is None, "whoever says no tenant sees nothing"
        elif end == "is cancelled":
            await self.cancel(tenant)
        elif end == "is killed":
            await self.kill(tenant)
        else:
            try:
                async with self.database.transaction(tenant=TenantId(tenant)) as tx:
                    await self.look(tx, tenant)
                    if end == "breaks":
                        await tx.execute("SELECT 1 / 0")
                    if end == "fails":
                        raise Failed
            except (Failed, asyncpg.DivisionByZeroError):
                pass

    async def look(self, tx: Tx, tenant: str) -> None:
        seen: list[str] = await tx.fetchval(LOOK)
        assert set(seen) == self.rows[tenant], f"{tenant} saw {seen}"

    async def cancel(self, tenant: str) -> None:
        """In the middle of a statement."""
        running = asyncio.Event()

        async def work() -> None:
            async with self.database.transaction(tenant=TenantId(tenant)) as tx:
                await self.look(tx, tenant)
                running.set()
                await tx.execute("SELECT pg_sleep(60)")

        task = asyncio.create_task(work())
        waiting = asyncio.create_task(running.wait())
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        task.cancel()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def kill(self, tenant: str) -> None:
        """The session behind an open transaction."""
        try:
            async with self.database.transaction(tenant=TenantId(tenant)) as tx:
                await self.look(tx, tenant)
                pid: int = await tx.fetchval("SELECT pg_backend_pid()")
                assert await self.killer.fetchval("SELECT pg_terminate_backend($1, 5000)", pid)
        except db.LOST:
            return
        raise AssertionError("a transaction was committed by a session that had ended")


@asynccontextmanager
async def crowd(url: str) -> AsyncGenerator[Crowd, None]:
    killer = await asyncpg.connect(superuser_url(url))
    await killer.execute(SEED, TENANTS)
    rows = await killer.fetch("SELECT tenant_id, array_agg(id) AS ids FROM projects GROUP BY 1")
    database = await db.connect(url, "central", size=CONNECTIONS)
    try:
        expected = {row["tenant_id"]: set[str](row["ids"]) for row in rows}
        pool = database._app  # pyright: ignore[reportPrivateUsage] as it is left, untouched
        yield Crowd(pool, database, killer, expected)
    finally:
        await database.close()
        await killer.close()


async def interleave(url: str) -> Counter[str]:
    async with crowd(url) as everyone:
        async with asyncio.TaskGroup() as group:
            for number in range(CALLERS):
                group.create_task(everyone.call(number))
        return everyone.ended


@pytest.mark.timeout(300)
def test_transactions_of_many_tenants_on_few_connections_never_leak(central_url: str) -> None:
    ended = uvloop.run(interleave(central_url))
    print(dict(ended))
    assert sum(ended.values()) == TRANSACTIONS
    assert all(ended[end] for end in ENDS), ended
    assert ended["found no connection"] < TRANSACTIONS // 100
