"""Sessions with PostgreSQL: only with a primary, and none outlives its peer for long.

TCP notices a host that is gone. A proxy in between answers TCP for a server that it cannot reach,
so whoever waits must also ask: a session that waits for something has a heartbeat (`heed`), and
those that work are watched (`watchdog`). The server, too, ends a session whose heartbeat stopped,
and with it the locks that it holds.
"""

import asyncio
import socket
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, cast

import asyncpg

CONNECT_S_MAX: Final = 5.0
HEARTBEAT_S: Final = 5.0
ANSWER_S_MAX: Final = 5.0  # to a heartbeat
# A holder of a lock notices that it is lost (a heartbeat and its answer) before the server does.
SILENCE_S_MAX: Final = 15
DEAD_PEER_S: Final = 10  # a host that acknowledges nothing
NAME_BYTES_MAX: Final = 63  # Postgres cuts longer names


class StandbyAnswered(ConnectionError):
    """There is a server, and nothing can be written to it."""

    def __init__(self) -> None:
        super().__init__(
            "the database that answers is a standby or read-only; nothing can be done until a "
            "primary answers"
        )


class Session(asyncpg.Connection):
    """A connection that knows its server."""

    __slots__ = ("server",)
    server: datetime  # when it started: another server's processes may have the same ids


async def connect(dsn: str | None = None, **options: Any) -> Session:
    """A connection to a primary; `options` are asyncpg's."""
    options.update(connection_class=Session, target_session_attrs="read-write")
    try:
        async with asyncio.timeout(CONNECT_S_MAX):
            session = cast("Session", await asyncpg.connect(dsn, **options))
            return await _acquainted(session)
    except asyncpg.TargetServerAttributeNotMatched:
        raise StandbyAnswered from None
    except TimeoutError:
        raise TimeoutError(f"the database did not answer within {CONNECT_S_MAX:.0f} s") from None


async def _acquainted(session: Session) -> Session:
    try:
        _notice_dead_peer(session)
        session.server = await session.fetchval("SELECT pg_postmaster_start_time()")
    except BaseException:
        session.terminate()
        raise
    return session


async def open_beating(url: str, name: str) -> Session:
    """A session to wait in, or to hold a lock with. It ends unless `heed` keeps it."""
    return await connect(
        url,
        command_timeout=ANSWER_S_MAX,
        server_settings={
            "application_name": name,
            "idle_session_timeout": f"{SILENCE_S_MAX}s",
        },
    )


async def heed(connection: asyncpg.Connection) -> None:
    """Ensures that a session which waits is alive. Always ends by raising that it is lost."""
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _connection: lost.set())
    while not connection.is_closed():
        try:
            await connection.execute("SELECT 1")
        except TimeoutError:
            raise TimeoutError("the database does not answer the heartbeat of a session") from None
        with suppress(TimeoutError):
            async with asyncio.timeout(HEARTBEAT_S):
                await lost.wait()
    raise ConnectionError("the session with the database was ended")


def socket_of(connection: asyncpg.Connection) -> socket.socket:
    # There is no other way to it.
    transport: asyncio.WriteTransport = connection._transport  # noqa: SLF001 # pyright: ignore[reportAttributeAccessIssue]
    return cast("socket.socket", transport.get_extra_info("socket"))


def _notice_dead_peer(connection: asyncpg.Connection) -> None:
    peer = socket_of(connection)
    if peer.family == socket.AF_UNIX:
        return
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # Not every system knows all of them by these names.
    for name, value in (
        ("TCP_KEEPIDLE", DEAD_PEER_S // 2),
        ("TCP_KEEPINTVL", DEAD_PEER_S // 4),
        ("TCP_KEEPCNT", 2),
        ("TCP_USER_TIMEOUT", DEAD_PEER_S * 1000),
    ):
        if (option := getattr(socket, name, None)) is not None:
            peer.setsockopt(socket.IPPROTO_TCP, option, value)
