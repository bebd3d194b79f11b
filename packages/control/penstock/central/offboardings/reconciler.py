"""Ensures that every tenant that leaves is gone once nothing of it is left.

A tenant leaves from the moment that its offboarding was asked for. It is gone when each of its
leases is released and the cleanup of every slot is proven. Each lease is released, and each
tenant seen off, in a transaction of its own: whoever dies in between, another goes on.
"""

import asyncio

from penstock.central import fleet
from penstock.central.offboardings import service
from penstock.kernel import log
from penstock.kernel.db import Database
from penstock.kernel.wakeups import Wakeups

logger = log.get(__name__)
RETRY_S = 1.0


async def run(database: Database, wakeups: Wakeups) -> None:
    """Told when a tenant begins to leave, and when slots are proven clean."""
    with wakeups.subscribe(service.BEGUN, fleet.ROOM) as told:
        while True:
            try:
                while await database.run(service.advance):
                    pass
            except Exception as error:
                logger.error("offboarding failed", exc_info=error, retry_s=RETRY_S)
                await asyncio.sleep(RETRY_S)
            else:
                await told.wait()
