"""Ensures that the embedded database runs while `penstock up` does."""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from penstock.local.postgres import EmbeddedPostgres
from penstock.local.programs import PostgresFailed

DELAY_S_MIN: Final = 0.2
DELAY_S_MAX: Final = 5.0


class KeptDatabase:
    def __init__(self, server: EmbeddedPostgres, told: Callable[[str], None]) -> None:
        self.server = server
        self._told = told
        self._stopping = False
        self._keeping: asyncio.Task[None] | None = None
        # The server dies with the thread that started it, so these threads are its own.
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="postgres")

    async def start(self) -> None:
        await self._in_thread(self.server.start)
        self._keeping = asyncio.create_task(self._keep(), name="keep-postgres")

    async def stop(self) -> None:
        self._stopping = True
        await self._in_thread(self.server.stop)
        if self._keeping:
            self._keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeping
        self._threads.shutdown()

    async def _keep(self) -> None:
        delay_s = DELAY_S_MIN
        while True:
            await self._in_thread(self.server.wait)
            if self._stopping:
                return
            self._told("ended; starts again")
            try:
                await self._in_thread(self.server.start)
            except PostgresFailed as error:
                self._told(str(error))
                await asyncio.sleep(delay_s)
                delay_s = min(delay_s * 2, DELAY_S_MAX)
            else:
                self._told("is ready again")
                delay_s = DELAY_S_MIN

    async def _in_thread(self, act: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._threads, act)
