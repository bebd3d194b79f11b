"""Two ends of a connection in memory, with whatever can go wrong on the way."""

import asyncio
import random
from collections.abc import Callable, Sequence

from penstock_contracts.link import Outgoing
from penstock_contracts.wire_pb2 import Entry, Frame

Fault = Callable[[list[Frame]], list[Frame]]


class End:
    """One end. What is written here is read at the other, after `fault` had its way."""

    def __init__(self, fault: Fault) -> None:
        self.peer: End
        self._fault = fault
        self._arrived: asyncio.Queue[Frame | None] = asyncio.Queue(64)

    async def read(self) -> Frame | None:
        return await self._arrived.get()

    async def write(self, frame: Frame) -> None:
        copy = Frame.FromString(frame.SerializeToString())
        for passed in self._fault([copy]):
            await self.peer._arrived.put(passed)


def whole(frames: list[Frame]) -> list[Frame]:
    return frames


def pair(fault: Fault = whole) -> tuple[End, End]:
    """Faults happen to what the first end sends."""
    one, other = End(fault), End(whole)
    one.peer, other.peer = other, one
    return one, other


class Unruly:
    """Now and then an entry comes twice, late, or after the next one."""

    def __init__(self, rng: random.Random, rate: float = 0.1) -> None:
        self._rng = rng
        self._rate = rate
        self._held: list[Frame] = []
        self.caused = 0

    def __call__(self, frames: list[Frame]) -> list[Frame]:
        if frames[0].WhichOneof("frame") != "entry" or self._rng.random() > self._rate:
            passed = [*frames, *self._held]
            self._held = []
            return passed
        self.caused += 1
        if self._rng.random() < 0.5:
            return frames * self._rng.randint(2, 4)
        self._held += frames  # it comes after the one that follows it
        return []


class Silent:
    """An outbox with nothing in it, and an inbox for the side that receives nothing."""

    async def read(self, after: int, limit: int) -> Sequence[Outgoing]:
        return []

    async def wait(self, after: int) -> None:
        await asyncio.Event().wait()

    async def acknowledge(self, seq: int) -> None:
        raise AssertionError("nothing was sent")

    async def head(self) -> int:
        return 0

    async def renumber(self, after: int) -> None:
        raise AssertionError("nothing was lost")

    async def cursor(self) -> int:
        return 0

    async def apply(self, entries: Sequence[Entry]) -> int:
        raise AssertionError("nothing should come")
