"""How a tenant leaves. The caller owns the transaction.

Offboarding releases every lease, waits until each cleanup is proven, and returns the tenant's
networks. Its name, its audit log, its usage and its balance stay.
"""

from typing import Final

from penstock.central import fleet
from penstock.central.access.authorization import Resource, authorize
from penstock.central.allocations import release
from penstock.central.allocations import service as allocations
from penstock.central.networks import service as networks
from penstock.central.nodes import service as nodes
from penstock.central.onboardings import service as onboardings
from penstock.central.tenants import life
from penstock.central.tenants import service as tenants
from penstock.central.tenants.model import Status, Tenant
from penstock.kernel import wakeups
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Tx
from penstock_contracts.failpoints import Failpoint
from penstock_contracts.ids import TenantId

BEGUN: Final = "offboardings"  # who waits for this is told when a tenant begins to leave
RELEASING: Final = Failpoint("central.offboarding.releasing")  # a lease; not yet committed
FINISHING: Final = Failpoint("central.offboarding.finishing")  # not yet committed


async def begin(tx: Tx, actor: Actor, reference: str, reason: str) -> Tenant:
    """From now on it leases nothing, and all it has is released. Asking again changes nothing."""
    seen = await tenants.get(tx, actor, reference)
    authorize(actor, "tenant.offboard", Resource("tenant", seen.id, seen.id))
    await onboardings.refuse_while_open(tx, seen.name)
    await fleet.lock(tx)
    tenant = await tenants.lock(tx, seen.id)
    if tenant.status in (Status.OFFBOARDING, Status.OFFBOARDED):
        return tenant
    left = await life.become(tx, actor, tenant, Status.OFFBOARDING, "offboard", reason)
    wakeups.notify(tx, BEGUN)
    return left


async def advance(tx: Tx) -> bool:
    """Release one lease, or see one tenant off; False if all that is left must be waited for."""
    for id in await life.offboarding(tx):
        lease = await allocations.first_active_of(tx, id)
        if lease is not None:
            await release.release(tx, SYSTEM, lease)
            RELEASING.hit()
            return True
        if not await allocations.held_by(tx, id):
            await _finish(tx, id)
            FINISHING.hit()
            return True
    return False


async def _finish(tx: Tx, id: TenantId) -> None:
    """The database refuses it while any cleanup is unproven."""
    await fleet.lock(tx)
    tenant = await tenants.lock(tx, id)
    if tenant.status is not Status.OFFBOARDING:
        return  # another replica was here first
    await life.become(tx, SYSTEM, tenant, Status.OFFBOARDED, "finish", tenant.status_reason)
    await networks.give_back(tx, SYSTEM, id)
    await nodes.unreserve(tx, SYSTEM, id)
