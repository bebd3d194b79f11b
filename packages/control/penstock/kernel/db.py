"""The database of a plane: pools by role, and transactions.

One request or one task is one transaction. What it appends (events, audit entries,
feed entries) is collected in the Tx and written just before commit, in one order of
locks, with one notification.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import asyncpg

from penstock.kernel import log, roles
from penstock.kernel.catalogue import UNCHECKED, Catalogue
from penstock.kernel.errors import Invalid
from penstock.kernel.faults import LOST as LOST
from penstock.kernel.faults import RACED as RACED
from penstock.kernel.outgoing import Outgoing, flush
from penstock.kernel.pools import Connection, Pool, begun, open_pool
from penstock_contracts.ids import TenantId

T = TypeVar("T")
Record = asyncpg.Record
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
logger = log.get(__name__)

LOCK: Final = """
    SELECT clock_timestamp()
    FROM (SELECT pg_advisory_xact_lock($1), set_config('enable_seqscan', 'off', true),
        set_config('plan_cache_mode', 'force_generic_plan', true)) AS locked
"""


@dataclass
class Tx:
    """One open transaction."""

    connection: Connection
    now: datetime
    correlation_id: str
    outgoing: Outgoing = field(default_factory=Outgoing)
    clock: Callable[[], datetime] | None = None
    reason: str = ""  # why it is done, if whoever asked for it said so
    catalogue: Catalogue = UNCHECKED  # the events that it may emit

    async def lock(self, key: int) -> None:
        """Wait for an advisory lock, held to the end. What is done under it is done from now
        on, not since the transaction began: so times are in the order of the lock. And it is
        done quickly: a statement is planned once, and never so that it reads a whole table, as a
        plan that was made while the table was empty would."""
        locked_at: datetime = await self.fetchval(LOCK, key)
        self.now = self.clock() if self.clock else locked_at

    @asynccontextmanager
    async def savepoint(self) -> AsyncGenerator[None, None]:
        """What is done within, and what it appends, happens as a whole or not at all."""
        mark = self.outgoing.mark()
        try:
            async with begun(self.connection):
                yield
        except BaseException:
            self.outgoing.rewind(mark)
            raise

    async def fetch(self, sql: str, *args: object) -> list[asyncpg.Record]:
        return await self.connection.fetch(sql, *args)

    async def each(
        self, sql: str, use: Callable[[list[asyncpg.Record]], None], *, at_once: int
    ) -> None:
        """Have all rows used, some at a time: while some are used, the next are read."""
        cursor = await self.connection.cursor(sql)
        coming = asyncio.ensure_future(cursor.fetch(at_once))
        try:
            while rows := await coming:
                coming = asyncio.ensure_future(cursor.fetch(at_once))
                await asyncio.sleep(0)  # it begins in the loop's next turn
                use(rows)
        finally:
            if coming.cancel():  # what comes is not wanted: the connection is free when it is gone
                await asyncio.wait([coming])

    async def fetchrow(self, sql: str, *args: object) -> asyncpg.Record | None:
        return await self.connection.fetchrow(sql, *args)

    async def fetchval(self, sql: str, *args: object) -> Any:
        """One value; the query says its type, so the caller annotates it."""
        return await self.connection.fetchval(sql, *args)

    async def execute(self, sql: str, *args: object) -> int:
        """Run a statement; the number of rows it touched."""
        status = await self.connection.execute(sql, *args)
        count = status.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0


class Database:
    """Opens transactions as a role. Made once per process."""

    def __init__(
        self,
        app: Pool,
        system: Pool,
        clock: Callable[[], datetime] | None = None,
        catalogue: Catalogue = UNCHECKED,
    ) -> None:
        self._app = app
        self._system = system
        self._clock = clock
        self._catalogue = catalogue

    @asynccontextmanager
    async def transaction(
        self, *, tenant: TenantId | None = None, correlation_id: str = "", reason: str = ""
    ) -> AsyncGenerator[Tx, None]:
        """As the app role behind the tenant's wall, or (no tenant) as the system."""
        pool = self._system if tenant is None else self._app
        async with pool.transaction() as connection:
            now = await connection.fetchval(
                "SELECT now() FROM set_config('app.tenant', $1, true)", tenant or ""
            )
            at = self.now(now)
            tx = self._tx(connection, at, correlation_id, reason)
            yield tx
            await flush(connection, tx.outgoing, tx.now)

    @asynccontextmanager
    async def locked(self, key: int) -> AsyncGenerator[Tx, None]:
        """As the system, under an advisory lock from the first statement on."""
        async with self._system.transaction() as connection:
            tx = self._tx(connection, EPOCH)
            await tx.lock(key)
            yield tx
            await flush(connection, tx.outgoing, tx.now)

    @asynccontextmanager
    async def look(self) -> AsyncGenerator[Tx, None]:
        """As the system, to read: whatever is read is of one moment."""
        async with self._system.transaction("repeatable_read", readonly=True) as connection:
            yield self._tx(connection, EPOCH)

    def _tx(
        self, connection: Connection, at: datetime, correlation_id: str = "", reason: str = ""
    ) -> Tx:
        return Tx(
            connection, at, correlation_id, clock=self._clock, reason=reason,
            catalogue=self._catalogue,
        )  # fmt: skip

    def now(self, told: datetime) -> datetime:
        """The time: what the database told, or the clock that was injected."""
        return self._clock() if self._clock is not None else told

    async def fetch(self, sql: str, *args: object) -> list[asyncpg.Record]:
        """One statement as the system, a transaction by itself: a single round trip."""
        async with self._system.session() as connection:
            return await connection.fetch(sql, *args)

    async def run(
        self,
        work: Callable[[Tx], Awaitable[T]],
        *,
        correlation_id: str = "",
        patient: bool = True,
        lock: int | None = None,
        unless: tuple[type[Exception], ...] = (),
    ) -> T:
        """Run idempotent work as the system, under a lock if it names one; again after a lost
        connection or a lost race. What is in `unless` is raised even if it is patient."""
        delay_s = 0.05
        while True:
            try:
                opened = self.transaction(correlation_id=correlation_id)
                async with opened if lock is None else self.locked(lock) as tx:
                    return await work(tx)
            except RACED:
                pass
            except LOST as error:
                if not patient or isinstance(error, unless):
                    raise
                logger.warning("database away", exc_info=error)
            await asyncio.sleep(delay_s)
            delay_s = min(delay_s * 2, 2.0)

    async def close(self) -> None:
        await asyncio.gather(self._app.close(), self._system.close())


async def connect(
    url: str,
    plane: str,
    *,
    size: int = 10,
    clock: Callable[[], datetime] | None = None,
    catalogue: Catalogue = UNCHECKED,
) -> Database:
    """Pools for the plane's two run-time roles, one login for both."""
    app = await open_pool(url, roles.app(plane), size)
    system = await open_pool(url, roles.system(plane), size)
    return Database(app, system, clock, catalogue)


def from_us(at_us: int) -> datetime:
    """A time on the wire (microseconds since 1970, UTC)."""
    try:
        return EPOCH + timedelta(microseconds=at_us)
    except OverflowError:
        raise Invalid(f"{at_us} microseconds since 1970 is not a time") from None


def to_us(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000)
