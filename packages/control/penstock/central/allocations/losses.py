"""What becomes of leases whose node lost what it knew of them: its key, its journal, its disk.

Nobody can tell whether the tenants still have what they were given, so each lease ends by the
ordinary road: its node cleans every slot, and proves it with its new key.
"""

from penstock.central.allocations import release, store
from penstock.central.allocations.model import Desired
from penstock.central.slots import service as slots
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Tx
from penstock_contracts.ids import AllocationId, NodeId


async def release_all(tx: Tx, node_id: NodeId, reason: str) -> list[AllocationId]:
    """Release what the node holds, and ask anew for what it was asked to clean already: the task
    may be lost with its journal. A gang ends whole. Answers which leases ended. The caller holds
    the fleet's lock."""
    ended: list[AllocationId] = []
    for id in await store.held_on(tx, node_id):
        allocation = await store.lock(tx, id)
        if allocation is None:
            continue
        if allocation.desired is Desired.ACTIVE:
            await release.begin(tx, SYSTEM, allocation, reason)
            ended.append(id)
        else:
            await release.ask(tx, allocation, await slots.held_by(tx, id))
    return ended
