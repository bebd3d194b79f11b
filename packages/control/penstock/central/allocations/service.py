"""What may be seen of allocations. The caller owns the transaction."""

from typing import Final

from penstock.central.access.authorization import Resource, authorize, authorize_list
from penstock.central.allocations import members, store
from penstock.central.allocations.gangs import Lease
from penstock.central.allocations.model import Allocation, Status
from penstock.kernel import events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.events import Event
from penstock_contracts.ids import AllocationId, TenantId

TIMELINE_MAX: Final = 1000
TIMELINE_OF_A_MEMBER: Final = 64


def resource(allocation: Allocation) -> Resource:
    return Resource(
        "allocation", allocation.id, allocation.tenant_id, allocation.organization_id,
        allocation.project_id, family=allocation.family,
    )  # fmt: skip


async def get(tx: Tx, actor: Actor, id: str) -> Allocation:
    allocation = await store.get(tx, id)
    authorize(actor, "allocation.view", resource(allocation))
    return allocation


async def lease(tx: Tx, actor: Actor, id: str) -> Lease:
    """As its tenant sees it: of a gang's lead, the whole gang as one."""
    return await shown(tx, await get(tx, actor, id))


async def shown(tx: Tx, allocation: Allocation) -> Lease:
    (lease,) = await members.leases(tx, [allocation])
    return lease


async def page(
    tx: Tx, actor: Actor, *, project: str | None, status: Status | None, after: str, limit: int
) -> list[Lease]:
    reach = authorize_list(actor, "allocation")
    found = await store.page(tx, reach, project=project, status=status, after=after, limit=limit)
    return await members.leases(tx, found)


async def timeline(tx: Tx, actor: Actor, id: str) -> list[Event]:
    """Everything that happened to it, in order, from the event log; of a gang, to all of it."""
    found = await lease(tx, actor, id)
    if not found.members:
        return await events.read(tx, subject=found.allocation.id, limit=TIMELINE_MAX)
    limit = max(TIMELINE_MAX, TIMELINE_OF_A_MEMBER * len(found.members))
    return await events.about(tx, [member.id for member in found.members], limit)


async def first_active_of(tx: Tx, tenant_id: TenantId) -> AllocationId | None:
    """Of a tenant that leaves: one that is to be released still."""
    return await store.first_active_of(tx, tenant_id)


async def held_by(tx: Tx, tenant_id: TenantId) -> int:
    """How many of its leases are not proven clean."""
    return await store.held_by(tx, tenant_id)
