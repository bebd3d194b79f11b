"""Following: a replica learns of room when it is told, and not when the next request waits."""

from collections.abc import Callable

from penstock.central import fleet
from penstock.kernel.wakeups import Wakeups


async def run(told: Wakeups, follow: Callable[[], None]) -> None:
    """Ensures that the fleet is known soon after the start, and soon after it changed. Who takes
    room does not tell: it is learned with the next that is given back."""
    with told.subscribe(fleet.ROOM) as wakeup:
        while True:
            follow()
            await wakeup.wait()
