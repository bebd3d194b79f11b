"""The watchdog: ends sessions that work for a server which is gone.

A statement may take its time, so time alone does not tell a slow server from one that is gone. Once
a session has been used for a while, a new connection is asked what the server knows of it. If none
can be made, or the server does not know the session, or is done with it and its answer never came,
it is dead: it is closed here, and whoever waits in it is told that the connection is lost.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, cast

import asyncpg

from penstock.kernel import faults, log, sessions

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Connection = PoolConnectionProxy[asyncpg.Record] | sessions.Session

LOOK_EVERY_S: Final = 2.0
USED_S: Final = 4.0  # so long, nobody asks
ANSWER_S_MAX: Final = 5.0
IDLE_S: Final = 10.0  # of a session that works here: its answer was lost
logger = log.get(__name__)


@dataclass(frozen=True)
class Use:
    connection: "Connection"
    since: float

    @property
    def session(self) -> tuple[datetime, int]:
        """When its server started, and its process: on another server that would be another's."""
        session = cast("sessions.Session", self.connection)  # it passes on what it does not know
        return session.server, session.get_server_pid()


class Watchdog:
    """`expire` is called when a session was dead: others from the same time may be, too."""

    def __init__(self, url: str, expire: Callable[[], Awaitable[None]]) -> None:
        self._url = url
        self._expire = expire
        self._uses: set[Use] = set()

    @contextmanager
    def watch(self, connection: "Connection") -> Generator[None, None, None]:
        use = Use(connection, asyncio.get_running_loop().time())
        self._uses.add(use)
        try:
            yield
        finally:
            self._uses.discard(use)

    async def run(self) -> None:
        """Ensures that nobody waits for long for a server that is gone."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            until = asyncio.get_running_loop().time() - USED_S
            long = [use for use in self._uses if use.since <= until]
            if open_ones := [use for use in long if not use.connection.is_closed()]:
                try:
                    await self._examine(open_ones)
                except Exception as error:  # whatever it is, it goes on watching
                    logger.error("the watchdog failed", exc_info=error)

    async def _examine(self, uses: list[Use]) -> None:
        try:
            async with asyncio.timeout(ANSWER_S_MAX):
                alive = await _alive(self._url, uses)
        except asyncpg.InsufficientResourcesError:
            return  # it is there
        except faults.LOST:
            alive = set[Use]()
        # Who is done by now needs no help.
        dead = [use for use in uses if use not in alive and use in self._uses]
        for use in dead:
            use.connection.terminate()
        if dead:
            logger.warning("sessions with the database were dead", sessions=len(dead))
            await self._expire()


@asynccontextmanager
async def watching(url: str, session: sessions.Session) -> AsyncGenerator[None, None]:
    """Watch a session of no pool, until the block ends."""
    watchdog = Watchdog(url, _nothing_else)
    running = asyncio.create_task(watchdog.run())
    try:
        with watchdog.watch(session):
            yield
    finally:
        running.cancel()


async def _nothing_else() -> None:
    """There is but one."""


async def _alive(url: str, uses: list[Use]) -> set[Use]:
    sought = {use: use.session for use in uses}
    connection = await sessions.connect(
        url, server_settings={"application_name": "penstock watchdog"}
    )
    try:
        rows = await connection.fetch(_WORKING, [pid for _, pid in sought.values()], IDLE_S)
    finally:
        connection.terminate()
    working = {(row["server"], row["pid"]) for row in rows}
    return {use for use, session in sought.items() if session in working}


_WORKING = """
SELECT pg_postmaster_start_time() AS server, pid FROM pg_stat_activity
WHERE pid = ANY($1::int[]) AND (
    state IS NULL OR state NOT LIKE 'idle%'
    OR state_change > clock_timestamp() - make_interval(secs => $2)
)
"""
