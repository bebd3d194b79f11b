"""The database of a plane: pools by role, and transactions.

One request or one task is one transaction. What it appends (events, audit entries,
feed entries) is collected in the Tx and written just before commit, in one order of
locks, with one notification.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

import asyncpg
import orjson

from penstock.kernel import log
from penstock.kernel.errors import Invalid
from penstock.kernel.outgoing import Outgoing, flush
from penstock_contracts.ids import TenantId

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Connection = PoolConnectionProxy[asyncpg.Record]
else:
    Connection = object

T = TypeVar("T")
Record = asyncpg.Record
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
logger = log.get(__name__)

# The work did not happen, or may not have: safe to run again if it is idempotent.
LOST: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # what a session that dies between two queries looks like
    asyncpg.TooManyConnectionsError,
    ConnectionError,
    OSError,
)
# No transaction waits for anything but the database, so an idle one belongs to a process
# that hangs: its locks must not outlive it for long.
IDLE_IN_TRANSACTION_S_MAX: Final = 15
SEND_BUFFER_BYTES: Final = 1 << 20
LOCK: Final = """
    SELECT clock_timestamp()
    FROM (SELECT pg_advisory_xact_lock($1), set_config('enable_seqscan', 'off', true),
        set_config('plan_cache_mode', 'force_generic_plan', true)) AS locked
"""
RACED: Final = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)


@dataclass
class Tx:
    """One open transaction."""

    connection: Connection
    now: datetime
    correlation_id: str
    outgoing: Outgoing = field(default_factory=Outgoing)
    clock: Callable[[], datetime] | None = None
    reason: str = ""  # why it is done, if whoever asked for it said so

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
            async with self.connection.transaction():
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
        app: "asyncpg.Pool[asyncpg.Record]",
        system: "asyncpg.Pool[asyncpg.Record]",
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._app = app
        self._system = system
        self._clock = clock

    @asynccontextmanager
    async def transaction(
        self, *, tenant: TenantId | None = None, correlation_id: str = "", reason: str = ""
    ) -> AsyncGenerator[Tx, None]:
        """As the app role behind the tenant's wall, or (no tenant) as the system."""
        pool = self._system if tenant is None else self._app
        async with pool.acquire() as connection, connection.transaction():
            now = await connection.fetchval(
                "SELECT now() FROM set_config('app.tenant', $1, true)", tenant or ""
            )
            at = self.now(now)
            tx = Tx(connection, at, correlation_id, clock=self._clock, reason=reason)
            yield tx
            await flush(connection, tx.outgoing, tx.now)

    @asynccontextmanager
    async def locked(self, key: int) -> AsyncGenerator[Tx, None]:
        """As the system, under an advisory lock from the first statement on."""
        async with self._system.acquire() as connection, connection.transaction():
            tx = Tx(connection, EPOCH, "", clock=self._clock)
            await tx.lock(key)
            yield tx
            await flush(connection, tx.outgoing, tx.now)

    @asynccontextmanager
    async def look(self) -> AsyncGenerator[Tx, None]:
        """As the system, to read: whatever is read is of one moment."""
        async with (
            self._system.acquire() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            yield Tx(connection, EPOCH, "", clock=self._clock)

    def now(self, told: datetime) -> datetime:
        """The time: what the database told, or the clock that was injected."""
        return self._clock() if self._clock is not None else told

    async def fetch(self, sql: str, *args: object) -> list[asyncpg.Record]:
        """One statement as the system, a transaction by itself: a single round trip."""
        return await self._system.fetch(sql, *args)

    async def run(
        self,
        work: Callable[[Tx], Awaitable[T]],
        *,
        correlation_id: str = "",
        patient: bool = True,
        lock: int | None = None,
    ) -> T:
        """Run idempotent work as the system, under a lock if it names one; again after a lost
        connection or a lost race."""
        delay_s = 0.05
        while True:
            try:
                opened = self.transaction(correlation_id=correlation_id)
                async with opened if lock is None else self.locked(lock) as tx:
                    return await work(tx)
            except RACED:
                pass
            except LOST as error:
                if not patient:
                    raise
                logger.warning("database away", error=str(error), retry_s=delay_s)
            await asyncio.sleep(delay_s)
            delay_s = min(delay_s * 2, 2.0)

    async def close(self) -> None:
        for pool in (self._app, self._system):
            try:
                async with asyncio.timeout(2):
                    await pool.close()
            except TimeoutError:
                pool.terminate()


async def connect(
    url: str, plane: str, *, size: int = 10, clock: Callable[[], datetime] | None = None
) -> Database:
    """Pools for the plane's two run-time roles."""
    app = await _pool(url, f"penstock_{plane}_app", size)
    system = await _pool(url, f"penstock_{plane}_system", size)
    return Database(app, system, clock)


async def _pool(url: str, role: str, size: int) -> "asyncpg.Pool[asyncpg.Record]":
    return await asyncpg.create_pool(
        url,
        min_size=1,
        max_size=size,
        command_timeout=30,
        init=_set_up,
        reset=_keep,
        server_settings={
            "role": role,
            "application_name": role,
            "timezone": "UTC",
            "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_S_MAX}s",
        },
    )


async def _set_up(connection: asyncpg.Connection) -> None:
    _widen(connection)
    await prepare_connection(connection)


def _widen(connection: asyncpg.Connection) -> None:
    """A large statement is sent at once: what the socket does not take waits until this process
    has nothing better to do, and the database waits with it. TCP finds its own size."""
    # There is no other way to its socket.
    transport: asyncio.WriteTransport = connection._transport  # noqa: SLF001 # pyright: ignore[reportAttributeAccessIssue]
    sender: socket.socket = transport.get_extra_info("socket")
    if sender.family == socket.AF_UNIX:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)


async def prepare_connection(connection: asyncpg.Connection) -> None:
    """JSON columns are Python values."""
    for kind in ("json", "jsonb"):
        await connection.set_type_codec(
            kind,
            schema="pg_catalog",
            encoder=lambda value: orjson.dumps(value, default=str).decode(),
            decoder=orjson.loads,
        )


async def _keep(_connection: object) -> None:
    """Nothing to reset on release: settings are only ever SET LOCAL."""


def from_us(at_us: int) -> datetime:
    """A time on the wire (microseconds since 1970, UTC)."""
    try:
        return EPOCH + timedelta(microseconds=at_us)
    except OverflowError:
        raise Invalid(f"{at_us} microseconds since 1970 is not a time") from None


def to_us(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000)
