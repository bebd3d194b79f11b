"""Orders under way. Those of one allocation or one slot follow each other; others run abreast."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

from penstock_agent.orders import Order


class Underway:
    """One order being carried out, or waiting for its turn."""

    def __init__(self, order: Order, ahead: tuple["Underway", ...]) -> None:
        self.order = order
        self.ahead = ahead  # sharing a lane, and not done when this one arrived
        self.done = asyncio.Event()
        self.stopped = False
        self._scope: asyncio.Timeout | None = None

    def stop(self) -> None:
        """Make the effect fail with TimeoutError now, or as soon as it would begin."""
        self.stopped = True
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time())

    @asynccontextmanager
    async def limit(self, seconds: float) -> AsyncGenerator[asyncio.Timeout]:
        """The time that the effect may take; `stop` ends it early."""
        async with asyncio.timeout(seconds) as scope:
            self._scope = scope
            try:
                yield scope
            finally:
                self._scope = None

    async def turn(self) -> None:
        for other in self.ahead:
            await other.done.wait()

    async def twins(self) -> None:
        """Wait for the same task, should it be under way already."""
        for other in self.ahead:
            if other.order.task_id == self.order.task_id:
                await other.done.wait()

    def stop_ahead(self) -> None:
        """Stop what the end of its lease makes pointless."""
        for other in self.ahead:
            same = other.order.allocation_id == self.order.allocation_id
            if same and not other.order.kind.ends:
                other.stop()


class Lanes:
    def __init__(self) -> None:
        self._underway: list[Underway] = []

    @contextmanager
    def enter(self, order: Order) -> Generator[Underway]:
        lanes = order.lanes
        ahead = tuple(other for other in self._underway if lanes & other.order.lanes)
        underway = Underway(order, ahead)
        self._underway.append(underway)
        try:
            yield underway
        finally:
            self._underway.remove(underway)
            underway.done.set()
