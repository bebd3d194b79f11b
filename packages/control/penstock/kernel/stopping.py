"""How a process ends when it is told to.

First it says so: `/readyz` says no, and clients are asked to connect anew, while everything is
served for a little longer. Then it takes nothing new: requests are refused, streams end, each with
the reason; what is under way is finished. Then it ends.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from penstock.kernel import log
from penstock.kernel.errors import Restarting

STEP_S_MAX: Final = 2.0
Step = Callable[[], Awaitable[None]]
logger = log.get(__name__)


class Stopping:
    def __init__(self, linger_s: float = 0.0) -> None:
        self._linger_s = linger_s
        self._steps: list[Step] = []
        self.told = False  # to end
        self.refusing = False  # whatever is new

    def then(self, *steps: Step) -> None:
        """Have these done, in this order, once nothing new is taken."""
        self._steps.extend(steps)

    async def ready(self) -> None:
        """A check of readiness."""
        if self.told:
            raise Restarting

    def refuse(self) -> None:
        """Raises the reason if nothing new is taken: for who asks, and for streams."""
        if self.refusing:
            raise Restarting

    async def wind_down(self) -> None:
        """Return when what was under way is finished, or takes too long."""
        logger.info("stopping", linger_s=self._linger_s)
        self.told = True
        await asyncio.sleep(self._linger_s)
        self.refusing = True
        for step in self._steps:
            try:
                async with asyncio.timeout(STEP_S_MAX):
                    await step()
            except Exception as error:  # it ends nevertheless
                why = str(error) or type(error).__name__
                logger.warning("it ends with work under way", error=why)
