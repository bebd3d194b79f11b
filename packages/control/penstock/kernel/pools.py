"""Pools of sessions, one for each role. Whoever has one leaves it quickly, whatever happened.

What is left unfinished is taken back by the server when a session ends. So if a session does not
answer soon to be taken back, it is ended; and nobody who is told to stop waits for it, or is kept
from stopping because it failed.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, Literal

import asyncpg
import orjson

from penstock.kernel import faults, sessions
from penstock.kernel.faults import LOST
from penstock.kernel.watchdog import Watchdog

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Connection = PoolConnectionProxy[asyncpg.Record]
else:
    Connection = object

# No transaction waits for anything but the database, so an idle one belongs to a process
# that hangs: its locks must not outlive it for long.
IDLE_IN_TRANSACTION_S_MAX: Final = 15
STATEMENT_S_MAX: Final = 30.0  # of a server that is known to work at it
ACQUIRE_S_MAX: Final = 10.0
LEAVE_S_MAX: Final = 2.0
SEND_BUFFER_BYTES: Final = 1 << 20

Isolation = Literal["repeatable_read"]


class Pool:
    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", url: str) -> None:
        self._pool = pool
        self._watchdog = Watchdog(url, pool.expire_connections)
        self._watching = asyncio.create_task(self._watchdog.run())

    @asynccontextmanager
    async def session(self) -> AsyncGenerator[Connection, None]:
        try:
            connection = await self._acquire()
            try:
                with self._watchdog.watch(connection):
                    yield connection
            except asyncpg.ReadOnlySQLTransactionError:
                connection.terminate()  # the next one is asked whether it is a primary
                raise
            finally:
                await self._pool.release(connection, timeout=LEAVE_S_MAX)
        except LOST as error:
            if isinstance(error, TimeoutError):  # others from the same time may be dead, too
                await self._pool.expire_connections()
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise asyncio.CancelledError from error  # it was told to stop before that
            raise

    async def _acquire(self) -> Connection:
        try:
            return await self._pool.acquire(timeout=ACQUIRE_S_MAX)
        except TimeoutError as error:
            none = f"no session with the database was free within {ACQUIRE_S_MAX:.0f} s"
            raise TimeoutError(str(error) or none) from None

    @asynccontextmanager
    async def transaction(
        self, isolation: Isolation | None = None, *, readonly: bool = False
    ) -> AsyncGenerator[Connection, None]:
        async with (
            self.session() as connection,
            begun(connection, isolation, readonly=readonly),
        ):
            yield connection

    async def close(self) -> None:
        """In good order, if the database answers."""
        self._watching.cancel()
        try:
            async with asyncio.timeout(LEAVE_S_MAX):
                await self._pool.close()
        except Exception as error:
            if not faults.is_fault(error):
                raise
            self._pool.terminate()


@asynccontextmanager
async def begun(
    connection: Connection, isolation: Isolation | None = None, *, readonly: bool = False
) -> AsyncGenerator[None, None]:
    """A transaction, or a savepoint in one: done as a whole, or taken back."""
    transaction = connection.transaction(isolation=isolation, readonly=readonly)
    await transaction.start()
    try:
        yield
    except BaseException:
        try:
            async with asyncio.timeout(LEAVE_S_MAX):
                await transaction.rollback()
        except LOST:
            connection.terminate()
        raise
    await transaction.commit()


async def open_pool(url: str, role: str, size: int) -> Pool:
    pool = await asyncpg.create_pool(
        url,
        connect=sessions.connect,
        connection_class=sessions.Session,
        min_size=1,
        max_size=size,
        command_timeout=STATEMENT_S_MAX,
        init=_set_up,
        reset=_keep,
        server_settings={
            "role": role,
            "application_name": role,
            "timezone": "UTC",
            "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_S_MAX}s",
        },
    )
    return Pool(pool, url)


async def _set_up(connection: asyncpg.Connection) -> None:
    _widen(connection)
    async with asyncio.timeout(sessions.CONNECT_S_MAX):
        await prepare_connection(connection)


def _widen(connection: asyncpg.Connection) -> None:
    """A large statement is sent at once: what the socket does not take waits until this process
    has nothing better to do, and the database waits with it. TCP finds its own size."""
    sender = sessions.socket_of(connection)
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
