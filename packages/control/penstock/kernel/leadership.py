"""Work that one process at a time does: the one whose database session holds a lock.

When the process dies its session ends, and the next one gets the lock. A process that only
hangs keeps it; so work that must not be done twice has a guard of its own, too.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import asyncpg

from penstock.kernel import log
from penstock.kernel.db import LOST

AGAIN_S: Final = 0.5
logger = log.get(__name__)


async def lead(url: str, lock: int, name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Ensures that of all who lead with this lock, one does the work, for ever."""
    while True:
        try:
            connection = await asyncpg.connect(
                url, server_settings={"application_name": f"penstock {name}"}
            )
            try:
                await connection.execute("SELECT pg_advisory_lock($1)", lock)
                await _while_connected(connection, work)
            finally:
                connection.terminate()
        except LOST as error:
            logger.warning("leadership lost", name=name, error=str(error))
        await asyncio.sleep(AGAIN_S)


async def _while_connected(
    connection: asyncpg.Connection, work: Callable[[], Awaitable[None]]
) -> None:
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _connection: lost.set())
    working = asyncio.ensure_future(work())
    losing = asyncio.create_task(lost.wait())
    try:
        await asyncio.wait({working, losing}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        losing.cancel()
        working.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait({working})
