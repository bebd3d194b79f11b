"""Ensures that nothing new is placed at a site that is away.

A site is missing from the moment that its link is down; it is away once it has been missing
for the grace period, and until it connects again. A lease for an away site could not be
realized, so its nodes are not schedulable. Short interruptions, and the time that sites need
to dial again after central was away, must refuse nobody: hence the grace, which begins at
the earliest when this process does.
"""

from datetime import datetime, timedelta

from penstock.central import fleet
from penstock.central.sites import service, store
from penstock.kernel import events, loops
from penstock.kernel.db import Database, Tx
from penstock.kernel.loops import Idle, Loop
from penstock.kernel.wakeups import Wakeups


def loop(database: Database, told: Wakeups, grace: timedelta) -> Loop:
    """Any replica may; marking a site twice marks it once."""
    return Loop(
        "absence",
        "Marks sites as away that have been missing for too long.",
        loops.reconcile(Watch(database, grace).advance, told, (service.MISSING,)),
    )


class Watch:
    """The grace begins anew after a failure: meanwhile no site could tell that it is back."""

    def __init__(self, database: Database, grace: timedelta) -> None:
        self._database = database
        self._grace = grace
        self._since: datetime | None = None

    async def advance(self) -> Idle:
        since, self._since = self._since, None
        since = since or await self._database.run(_now)
        idle_s = await self._database.run(lambda tx: mark(tx, since, self._grace))
        self._since = since
        return idle_s


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
        await fleet.changed_at(tx, id)
        events.emit(tx, "site.away", id, grace_s=grace.total_seconds())
    return 0.0
