"""Nudges: when those who wait for room should be looked at again.

The fleet's change log tells of room (a slot freed or approved, a node undrained or connected);
`nudge` tells of what is no matter of nodes (a wait cancelled, a quota raised); and a timer is set
to the next instant at which time alone changes something. Nothing is polled.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from penstock.central import fleet
from penstock.central.allocations import waiting
from penstock.kernel import log, wakeups
from penstock.kernel.db import Database, Tx
from penstock.kernel.wakeups import Wakeups

logger = log.get(__name__)

NUDGED: Final = "backlog"
RETRY_S: Final = 1.0
# Ends and expiries are by the database's clock; a little later than due is not too early.
MARGIN_S: Final = 0.01


def nudge(tx: Tx) -> None:
    """Have those who wait looked at again, by every replica, when this transaction commits."""
    wakeups.notify(tx, NUDGED)


async def run(database: Database, told: Wakeups, decide_now: Callable[[], Awaitable[None]]) -> None:
    """Ensures that whoever waits is placed as soon as there is room, and waits no longer than
    it asked to. Several replicas may decide at once: the fleet's lock orders them."""
    with told.subscribe(fleet.FEED, NUDGED) as wakeup:
        while True:
            due = await database.run(waiting.due)
            if due.waiting:
                if not await _decided(decide_now):
                    wakeup.set()
                    await asyncio.sleep(RETRY_S)
                due = await database.run(waiting.due)
            with suppress(TimeoutError):
                async with asyncio.timeout(None if due.in_s is None else due.in_s + MARGIN_S):
                    await wakeup.wait()


async def _decided(decide_now: Callable[[], Awaitable[None]]) -> bool:
    try:
        await decide_now()
    except Exception as error:
        logger.error("round failed", exc_info=error)
        return False
    return True
