"""Ensures that the embedded database runs while `penstock up` does."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from penstock.local import health
from penstock.local.health import Health
from penstock.local.postgres import EmbeddedPostgres

DELAY_S_MIN: Final = 0.2
DELAY_S_MAX: Final = 5.0


class KeptDatabase:
    def __init__(
        self,
        server: EmbeddedPostgres,
        told: Callable[[str], None],
        asked: Health | None = None,
    ) -> None:
        self.server = server
        self._told = told
        self._health = asked or health.postgres(lambda: server.socket)
        self._stopping = False
        self._starting: asyncio.Future[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        # The server dies with the thread that started it, so these threads are its own.
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="postgres")

    async def start(self) -> None:
        await self._start()
        self._keeping = asyncio.create_task(self._keep(), name="keep-postgres")

    async def stop(self) -> None:
        self._stopping = True
        await self._end_start()
        await self._in_thread(self.server.stop)
        if self._keeping:
            self._keeping.cancel()
            await asyncio.wait({self._keeping})
        self._threads.shutdown()

    async def _keep(self) -> None:
        delay_s = DELAY_S_MIN
        while True:
            await self._until_ended()
            if self._stopping:
                return
            self._told("ended; starts again")
            try:
                await self._start()
            except Exception as error:  # whatever it is, a disk without room for one, may pass
                self._told(str(error) or type(error).__name__)
                await asyncio.sleep(delay_s)
                delay_s = min(delay_s * 2, DELAY_S_MAX)
            else:
                self._told("is ready again")
                delay_s = DELAY_S_MIN

    async def _start(self) -> None:
        self._starting = asyncio.ensure_future(self._in_thread(self.server.start))
        await asyncio.shield(self._starting)  # a thread cannot be cancelled

    async def _end_start(self) -> None:
        """Return when no start is under way; recovery may take longer than anyone will wait."""
        while self._starting and not self._starting.done():
            await asyncio.wait({self._starting}, timeout=DELAY_S_MAX)
            if not self._starting.done():
                await self._in_thread(self.server.kill)

    async def _until_ended(self) -> None:
        watching = asyncio.create_task(self._watch())
        try:
            await self._in_thread(self.server.wait)
        finally:
            watching.cancel()

    async def _watch(self) -> None:
        """Ensures that a server which does not answer any more is ended."""
        await self._health.until_silent(lambda: True)
        if not self._stopping:
            self._told("does not answer any more; it is ended")
            await self._in_thread(self.server.kill)

    async def _in_thread(self, act: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._threads, act)
