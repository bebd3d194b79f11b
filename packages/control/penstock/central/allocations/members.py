"""The SQL of gangs: which allocations are one lease."""

from collections.abc import Sequence

from penstock.central.allocations import gangs, store
from penstock.central.allocations.gangs import Lease
from penstock.central.allocations.model import Allocation
from penstock.kernel.db import Tx
from penstock_contracts.ids import AllocationId


async def of(tx: Tx, gang_id: AllocationId) -> list[Allocation]:
    """All of a gang, the lead first. Who holds the lead (`store.lock`) holds them all."""
    rows = await tx.fetch(
        f"{store.SELECT} WHERE a.gang_id = $1 ORDER BY a.nodes DESC, a.id", gang_id
    )
    return [store.read(row) for row in rows]


async def leases(tx: Tx, found: Sequence[Allocation]) -> list[Lease]:
    """Each as its tenant sees it: of a gang's lead, the whole gang; of another member, itself."""
    leads = [each.id for each in found if each.nodes > 1]
    if not leads:
        return [Lease(each) for each in found]
    rows = await tx.fetch(
        f"{store.SELECT} WHERE a.gang_id = ANY($1) ORDER BY a.nodes DESC, a.id", leads
    )
    members: dict[AllocationId | None, list[Allocation]] = {}
    for member in map(store.read, rows):
        members.setdefault(member.gang_id, []).append(member)
    return [gangs.as_one(members[each.id]) if each.nodes > 1 else Lease(each) for each in found]


async def bind(tx: Tx, members: Sequence[Allocation]) -> None:
    """Make gangs of allocations that this transaction made; it cannot end with part of one."""
    if members:
        await tx.execute(
            """
            UPDATE allocations a SET gang_id = new.gang, nodes = new.nodes
            FROM unnest($1::text[], $2::text[], $3::smallint[]) AS new (id, gang, nodes)
            WHERE a.id = new.id
            """,
            [member.id for member in members],
            [member.gang_id for member in members],
            [member.nodes for member in members],
        )
