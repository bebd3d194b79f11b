"""Ensures that a lease is released when its end comes, and that its tenant is warned before.

Its end is `ends_at`, if it was asked for with one. At that moment its release begins, as if its
tenant had asked for it; its slots are free once their cleanup is proven, as ever. A lease that
waits for room at its end expires instead (`placement/line.py`).

Every replica watches the next end. Whoever holds a lease's row ends it, and nobody sees it again:
so nothing is released or told twice, and whoever dies in between has done nothing. What came due
while no central ran is done when one starts; it is too late for a warning then.
"""

from datetime import timedelta
from typing import Final

from penstock.central.allocations import deadlines, release, store
from penstock.kernel import events, loops
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Database, Tx
from penstock.kernel.loops import Loop
from penstock.kernel.wakeups import Wakeups
from penstock_contracts.failpoints import Failpoint
from penstock_contracts.ids import AllocationId

REASON: Final = "its end was reached"
BATCH: Final = 64  # leases of one transaction
HELD_S: Final = 1.0  # another transaction holds all that is due: look again then
LOOK_S_MAX: Final = 300.0  # clocks are set, machines suspended: no timer is trusted for longer
BEGUN: Final = Failpoint("central.ending.begun")  # and not yet committed


def loop(database: Database, told: Wakeups, warning: timedelta) -> Loop:
    """Told when a lease with an end is placed; else asleep until the next is due."""
    return Loop(
        "endings",
        "Releases leases whose end has come, and warns their tenants before.",
        loops.reconcile(lambda: database.run(lambda tx: act(tx, warning)), told, (deadlines.SET,)),
    )


async def act(tx: Tx, warning: timedelta) -> float:
    """Release whose end has come, warn whose end is near; in how many seconds to look again."""
    if over := await deadlines.over(tx, BATCH):
        await _release(tx, over)
    if soon := await deadlines.soon(tx, warning, BATCH):
        await _warn(tx, soon)
    next_s = await deadlines.next_in_s(tx, warning)
    if next_s is None:
        return LOOK_S_MAX
    if next_s <= 0 and not over and not soon:
        return HELD_S
    return min(max(0.0, next_s), LOOK_S_MAX)


async def _release(tx: Tx, over: list[AllocationId]) -> None:
    for lease in await store.find(tx, over):
        tx.correlation_id = lease.correlation_id
        await release.begin(tx, SYSTEM, lease, REASON)
        BEGUN.hit()


async def _warn(tx: Tx, soon: list[AllocationId]) -> None:
    await deadlines.warned(tx, soon)
    for lease in await store.find(tx, soon):
        tx.correlation_id = lease.correlation_id
        events.emit(
            tx, "allocation.ending", lease.id, tenant_id=lease.tenant_id,
            project=lease.project_id, ends_at=lease.wait.ends_at,
        )  # fmt: skip
