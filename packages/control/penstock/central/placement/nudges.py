"""Nudges: when those who wait for room should be looked at again.

Changes of the fleet tell of room (a slot freed or approved, a node undrained or connected);
`nudge` tells of what is no matter of nodes (a wait cancelled, a quota raised); and a timer is set
to the next instant at which time alone changes something. Nothing is polled.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from penstock.central import fleet
from penstock.central.allocations import waiting
from penstock.kernel import log, wakeups
from penstock.kernel.db import Database, Tx
from penstock.kernel.wakeups import Wakeups

logger = log.get(__name__)

Decide = Callable[[], Awaitable[None]]

NUDGED: Final = "backlog"
BEGUN: Final = "backlog.begun"
RETRY_S: Final = 1.0
# Ends and expiries are by the database's clock; a little later than due is not too early.
MARGIN_S: Final = 0.01


def nudge(tx: Tx) -> None:
    """Have those who wait looked at again, by every replica, when this transaction commits."""
    wakeups.notify(tx, NUDGED)


def begin(tx: Tx) -> None:
    """Someone began to wait and was decided upon; only their time must be watched from now on."""
    wakeups.notify(tx, BEGUN)


async def run(database: Database, told: Wakeups, decide_now: Decide) -> None:
    """Ensures that whoever waits is placed as soon as there is room, and waits no longer than
    it asked to. Several replicas may decide at once: the fleet's lock orders them."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_on_room(database, told, decide_now))
        group.create_task(_on_time(database, told, decide_now))


async def _on_room(database: Database, told: Wakeups, decide_now: Decide) -> None:
    with told.subscribe(fleet.ROOM, NUDGED) as wakeup:
        while True:
            if (await database.run(waiting.due)).waiting:
                await _decide(decide_now)
            await wakeup.wait()


async def _on_time(database: Database, told: Wakeups, decide_now: Decide) -> None:
    with told.subscribe(fleet.ROOM, NUDGED, BEGUN) as wakeup:
        while True:
            due = await database.run(waiting.due)
            try:
                async with asyncio.timeout(None if due.in_s is None else due.in_s + MARGIN_S):
                    await wakeup.wait()
            except TimeoutError:
                await _decide(decide_now)


async def _decide(decide_now: Decide) -> None:
    """Until it succeeds: what was told is told only once."""
    while True:
        try:
            return await decide_now()
        except Exception as error:
            logger.error("round failed", exc_info=error, retry_s=RETRY_S)
        await asyncio.sleep(RETRY_S)
