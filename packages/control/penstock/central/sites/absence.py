"""Ensures that nothing new is placed at a site that is away.

A site is missing from the moment that its link is down; it is away once it has been missing
for the grace period, and until it connects again. A lease for an away site could not be
realized, so its nodes are not schedulable. Short interruptions, and the time that sites need
to dial again after central was away, must refuse nobody: hence the grace, which begins at
the earliest when this process does.
"""

import asyncio
from datetime import datetime, timedelta

from penstock.central import fleet
from penstock.central.nodes import service as nodes
from penstock.central.sites import service, store
from penstock.kernel import events
from penstock.kernel.db import Database, Tx
from penstock.kernel.wakeups import Wakeups


async def watch(database: Database, wakeups: Wakeups, grace: timedelta) -> None:
    """Any replica may; marking a site twice marks it once."""
    since = await database.run(_now)
    with wakeups.subscribe(service.MISSING) as told:
        while True:
            wait_s = await database.run(lambda tx: mark(tx, since, grace))
            try:
                async with asyncio.timeout(wait_s):
                    await told.wait()
            except TimeoutError:
                continue


async def _now(tx: Tx) -> datetime:
    return tx.now


async def mark(tx: Tx, since: datetime, grace: timedelta) -> float | None:
    """Mark who is away; in how many seconds the next may be, or None if nobody is missing."""
    missing_since = await store.missing_since(tx, since)
    if missing_since is None:
        return None
    left_s = (missing_since + grace - tx.now).total_seconds()
    if left_s > 0:
        return left_s
    await fleet.lock(tx)
    for id in await store.set_away(tx, tx.now - grace):
        await nodes.touch_all(tx, id)
        events.emit(tx, "site.away", id, grace_s=grace.total_seconds())
    return 0.0
