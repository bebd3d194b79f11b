"""Turns at what few can do at once: everybody has a turn before anybody has the next."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Turns:
    """However many one name waits with, another waits for one turn of each name before it."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once  # none while somebody waits
        self._lines: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, who: str) -> AsyncGenerator[None, None]:
        await self._take(who)
        try:
            yield
        finally:
            self._pass_on()

    async def _take(self, who: str) -> None:
        if self._free:
            self._free -= 1
            return
        waiting = asyncio.get_running_loop().create_future()
        self._lines.setdefault(who, deque()).append(waiting)
        try:
            await waiting
        except asyncio.CancelledError:
            if not waiting.cancelled():  # it was given the turn just then
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        while self._lines:
            who, line = self._lines.popitem(last=False)
            waiting = line.popleft()
            if line:
                self._lines[who] = line  # behind all others
            if not waiting.done():  # else it was cancelled
                waiting.set_result(None)
                return
        self._free += 1
