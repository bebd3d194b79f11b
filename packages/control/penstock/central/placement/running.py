"""Running slices as the planner of moves sees them."""

from penstock.central.allocations import store as allocations
from penstock.central.placement import receipts
from penstock.kernel.db import Tx
from penstock.placement.defragmentation.moves import Lease


async def running(tx: Tx, families: list[str], site_ids: list[str]) -> list[Lease]:
    """Slices that run now, with the request that each was placed for."""
    rows = await allocations.running_slices(tx, families, site_ids)
    return [
        Lease(
            id=row["id"],
            tenant=row["tenant_id"],
            node_id=row["node_id"],
            slot_ids=tuple(sorted(row["slot_ids"])),
            request=receipts.request_of(row["request"]),
        )
        for row in rows
    ]


async def stamp(tx: Tx) -> object:
    """Differs whenever a slice began to run or no longer does."""
    return await allocations.running_stamp(tx)
