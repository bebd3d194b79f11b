"""How a tenant's status changes, and who says so. The caller owns the transaction."""

from dataclasses import replace
from typing import Final

from penstock.central import fleet
from penstock.central.access.authorization import Resource, authorize
from penstock.central.tenants import service, store
from penstock.central.tenants.model import Status, Tenant
from penstock.kernel import audit, events, wakeups
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock_contracts.ids import TenantId


async def suspend(tx: Tx, actor: Actor, reference: str, reason: str) -> Tenant:
    """No new leases from now on. What runs goes on; everything can be seen and released."""
    return await change(tx, actor, reference, "suspend", Status.SUSPENDED, reason)


async def resume(tx: Tx, actor: Actor, reference: str, reason: str) -> Tenant:
    return await change(tx, actor, reference, "resume", Status.ACTIVE, reason)


async def change(
    tx: Tx, actor: Actor, reference: str, verb: str, to: Status, reason: str
) -> Tenant:
    """Asking for what is so already changes nothing."""
    seen = await service.get(tx, actor, reference)
    authorize(actor, f"tenant.{verb}", Resource("tenant", seen.id, seen.id))
    # Placement reads statuses under this lock: once this is answered, none follows the old one.
    await fleet.lock(tx)
    tenant = await service.lock(tx, seen.id)
    if tenant.status is to:
        return tenant
    if tenant.status is Status.ONBOARDING:  # only its own onboarding ends that
        raise _refusal(tenant, to)
    return await become(tx, actor, tenant, to, verb, reason)


async def become(
    tx: Tx, actor: Actor, tenant: Tenant, to: Status, verb: str, reason: str
) -> Tenant:
    """Whoever calls this has locked the tenant."""
    if not tenant.may_become(to):
        raise _refusal(tenant, to)
    changed = replace(tenant, status=to, status_reason=reason, status_at=tx.now)
    await store.set_status(tx, changed)
    audit.record(
        tx, actor, f"tenant.{verb}", tenant.id, tenant_id=tenant.id, reason=reason,
        status=to, before={"status": tenant.status},
    )  # fmt: skip
    events.emit(
        tx, HAPPENED[verb], tenant.id, tenant_id=tenant.id,
        status=to, before=tenant.status, reason=reason,
    )  # fmt: skip
    wakeups.notify(tx, fleet.ROOM)  # who waits is placed now, or no longer in another's way
    return changed


HAPPENED: Final = {
    "activate": "tenant.activated",
    "suspend": "tenant.suspended",
    "resume": "tenant.resumed",
    "offboard": "tenant.offboarding",
    "finish": "tenant.offboarded",
}


async def offboarding(tx: Tx) -> list[TenantId]:
    """Tenants whose leases are being released."""
    return await store.offboarding(tx)


def _refusal(tenant: Tenant, to: Status) -> Conflict:
    return Conflict(
        f"tenant {tenant.name} is {tenant.status}; it cannot become {to}",
        code=f"tenant_{tenant.status}",
    )
