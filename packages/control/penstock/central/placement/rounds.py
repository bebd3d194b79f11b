"""Rounds: when those who wait for room are looked at again.

Changes of the fleet tell of room (a slot freed or approved, a node undrained or connected);
a nudge tells of what is no matter of nodes (a wait cancelled, a quota raised); and a timer is set
to the next instant at which time alone changes something. Nothing is polled.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from penstock.central import fleet
from penstock.central.allocations import nudges, waiting
from penstock.kernel import loops
from penstock.kernel.db import Database
from penstock.kernel.loops import Idle, Loop
from penstock.kernel.wakeups import Wakeups

Decide = Callable[[], Awaitable[None]]

# Ends and expiries are by the database's clock; a little later than due is not too early.
MARGIN_S: Final = 0.01


def both(database: Database, told: Wakeups, decide_now: Decide) -> tuple[Loop, Loop]:
    """Ensures that whoever waits is placed as soon as there is room, and waits no longer than
    it asked to. Several replicas may decide at once: the fleet's lock orders them."""

    async def on_room() -> Idle:
        if (await database.run(waiting.due)).waiting:
            await decide_now()
        return loops.UNTIL_TOLD

    deadlines = Deadlines(database, decide_now)
    return (
        Loop(
            "backlog",
            "Places leases that wait when there may be room for them.",
            loops.reconcile(on_room, told, (fleet.ROOM, nudges.NUDGED)),
        ),
        Loop(
            "backlog deadlines",
            "Decides again on leases that wait when time alone changes something.",
            loops.reconcile(deadlines.advance, told, (fleet.ROOM, nudges.NUDGED, nudges.BEGUN)),
        ),
    )


class Deadlines:
    """The next instant at which time alone changes something. It is kept: once it is over, the
    database does not tell it any more."""

    def __init__(self, database: Database, decide_now: Decide) -> None:
        self._database = database
        self._decide_now = decide_now
        self._next_s: float | None = None  # by the loop's clock

    async def advance(self) -> Idle:
        now_s = asyncio.get_running_loop().time
        if self._next_s is not None and now_s() >= self._next_s:
            await self._decide_now()  # again and again until it succeeds
        self._next_s = None
        due = await self._database.run(waiting.due)
        if due.in_s is None:
            return loops.UNTIL_TOLD
        idle_s = due.in_s + MARGIN_S
        self._next_s = now_s() + idle_s
        return idle_s
