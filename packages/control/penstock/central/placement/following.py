"""Following: a replica learns of room when it is told, and not when the next request waits."""

from collections.abc import Callable

from penstock.central import fleet
from penstock.kernel import loops
from penstock.kernel.loops import Idle, Loop
from penstock.kernel.wakeups import Wakeups


def loop(told: Wakeups, follow: Callable[[], None]) -> Loop:
    """Ensures that the fleet is known soon after the start, and soon after it changed. Who takes
    room does not tell: it is learned with the next that is given back."""

    async def advance() -> Idle:
        follow()
        return loops.UNTIL_TOLD

    return Loop(
        "following",
        "Has this replica learn of room that was given back.",
        loops.reconcile(advance, told, (fleet.ROOM,)),
    )
