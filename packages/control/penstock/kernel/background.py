"""Background tasks: what a plane does for as long as it runs, besides answering."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from penstock.kernel import faults, log

AGAIN_S: Final = 0.5
logger = log.get(__name__)

IsFault = Callable[[BaseException], bool]


async def keep(
    name: str, work: Callable[[], Awaitable[None]], is_fault: IsFault = faults.is_fault
) -> None:
    """Ensures that the work goes on: a fault of the database interrupts it only for a moment. Any
    other exception is a bug, and ends the process."""
    while True:
        try:
            return await work()
        except Exception as error:
            if not is_fault(error):
                raise
            logger.error("background task interrupted", task=name, exc_info=error)
        await asyncio.sleep(AGAIN_S)
