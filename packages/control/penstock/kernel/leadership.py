"""Work that one process at a time does: the one whose database session holds a lock.

When the process dies its session ends, and the next one gets the lock. A process that hangs, or is
cut off, loses it too once its heartbeat has been missing for a while; it may not know that yet, so
work that must not be done twice has a guard of its own, too.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import asyncpg

from penstock.kernel import log, sessions
from penstock.kernel.faults import LOST

AGAIN_S: Final = 0.5
logger = log.get(__name__)


async def lead(url: str, lock: int, name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Ensures that of all who lead with this lock, one does the work, for ever."""
    while True:
        try:
            connection = await sessions.open_beating(url, session_name(name))
            try:
                await _obtain(connection, lock)
                await _while_connected(connection, work)
            finally:
                connection.terminate()
        except LOST as error:
            logger.warning("leadership lost", name=name, exc_info=error)
        await asyncio.sleep(AGAIN_S)


def session_name(name: str) -> str:
    """By which the database knows who leads, or waits to."""
    return f"penstock {name}"[: sessions.NAME_BYTES_MAX]


async def _obtain(connection: asyncpg.Connection, lock: int) -> None:
    """Asks again and again: a session that waits in a statement could not tell for how long its
    server has been gone."""
    while True:
        if await connection.fetchval("SELECT pg_try_advisory_lock($1)", lock):
            return
        await asyncio.sleep(AGAIN_S)


async def _while_connected(
    connection: asyncpg.Connection, work: Callable[[], Awaitable[None]]
) -> None:
    tasks = {asyncio.ensure_future(work()), asyncio.ensure_future(sessions.heed(connection))}
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
