"""Whether this process stood still: stopped, starved, or suspended with its machine.

Who stood still does not know what happened meanwhile: clients gave up, others went on without it.
So what waited is dropped, and what is held in memory is read anew.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from prometheus_client import Counter

from penstock.kernel import log, loops
from penstock.kernel.loops import Loop

BEAT_S: Final = 0.5
STALL_S: Final = 5.0  # no turn of the loop takes that long
# It runs on while a process is stopped or its machine suspended; elsewhere than on Linux the other
# one does. A virtual machine that is paused has neither: there, the time of day jumps.
CLOCK: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
STALLED: Final = Counter("penstock_stalls", "How often this process stood still")
logger = log.get(__name__)


def clock_s() -> float:
    """A clock that hardly anything stops."""
    return time.clock_gettime(CLOCK)


class Stalls:
    """Counts them. Nothing is counted unless somebody beats."""

    def __init__(
        self, clock: Callable[[], float] = clock_s, day: Callable[[], float] = time.time
    ) -> None:
        self.now_s = clock
        self._day_s = day
        self._beat_at: tuple[float, float] | None = None
        self._count = 0

    def look(self) -> int:
        """How often it stood still so far. Who looks first counts one that ended just now."""
        if self._beat_at is None:
            return self._count
        beat_s, beat_day_s = self._beat_at
        stood_s = max(self.now_s() - beat_s, self._day_s() - beat_day_s)
        if stood_s > STALL_S:
            self._count += 1
            self._beat_at = self.now_s(), self._day_s()
            STALLED.inc()
            logger.warning("stood still", seconds=round(stood_s, 1))
        return self._count

    def beat(self) -> None:
        self.look()
        self._beat_at = self.now_s(), self._day_s()

    def loop(self) -> Loop:
        return Loop("stalls", "Notices when this process stood still.", loops.steady(self.watch))

    async def watch(self) -> None:
        """Ensures that it is known when the loop turned last."""
        while True:
            self.beat()
            await asyncio.sleep(BEAT_S)
