"""Ensures that every tenant that leaves is gone once nothing of it is left.

A tenant leaves from the moment that its offboarding was asked for. It is gone when each of its
leases is released and the cleanup of every slot is proven. Each lease is released, and each
tenant seen off, in a transaction of its own: whoever dies in between, another goes on.
"""

from penstock.central import fleet
from penstock.central.offboardings import service
from penstock.kernel import loops
from penstock.kernel.db import Database
from penstock.kernel.loops import Idle, Loop
from penstock.kernel.wakeups import Wakeups


def loop(database: Database, told: Wakeups) -> Loop:
    """Told when a tenant begins to leave, and when slots are proven clean."""

    async def advance() -> Idle:
        return loops.MORE if await database.run(service.advance) else loops.UNTIL_TOLD

    return Loop(
        "offboardings",
        "Sees off tenants that leave: releases their leases, and ends them once all is clean.",
        loops.reconcile(advance, told, (service.BEGUN, fleet.ROOM)),
    )
