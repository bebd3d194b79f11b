"""What may be seen of allocations. The caller owns the transaction."""

from penstock.central.access.authorization import Resource, authorize, authorize_list
from penstock.central.allocations import store
from penstock.central.allocations.model import Allocation, Status
from penstock.kernel import events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.events import Event
from penstock_contracts.ids import AllocationId, TenantId


def resource(allocation: Allocation) -> Resource:
    return Resource(
        "allocation", allocation.id, allocation.tenant_id, allocation.organization_id,
        allocation.project_id, family=allocation.family,
    )  # fmt: skip


async def get(tx: Tx, actor: Actor, id: str) -> Allocation:
    allocation = await store.get(tx, id)
    authorize(actor, "allocation.view", resource(allocation))
    return allocation


async def page(
    tx: Tx, actor: Actor, *, project: str | None, status: Status | None, after: str, limit: int
) -> list[Allocation]:
    reach = authorize_list(actor, "allocation")
    return await store.page(tx, reach, project=project, status=status, after=after, limit=limit)


async def timeline(tx: Tx, actor: Actor, id: str) -> list[Event]:
    """Everything that happened to it, in order, from the event log."""
    allocation = await get(tx, actor, id)
    return await events.read(tx, subject=allocation.id, limit=1000)


async def first_active_of(tx: Tx, tenant_id: TenantId) -> AllocationId | None:
    """Of a tenant that leaves: one that is to be released still."""
    return await store.first_active_of(tx, tenant_id)


async def held_by(tx: Tx, tenant_id: TenantId) -> int:
    """How many of its leases are not proven clean."""
    return await store.held_by(tx, tenant_id)
