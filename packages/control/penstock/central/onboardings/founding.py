"""What a tenant has from its first moment, whoever makes it. The caller owns the transaction."""

from penstock.central.organizations import service as organizations
from penstock.central.realms import creation as realms
from penstock.central.tenants import service as tenants
from penstock.central.tenants.model import Status, Tenant
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock_contracts.ids import TenantId


async def create(tx: Tx, actor: Actor, *, name: str) -> Tenant:
    """A tenant that can lease at once, with its realm and its default organization."""
    tenant = await found(tx, actor, name, Status.ACTIVE)
    await realms.create(tx, tenant.id, name)
    return tenant


async def found(tx: Tx, actor: Actor, name: str, status: Status) -> Tenant:
    """A tenant, with the organization that its projects belong to by default."""
    tenant = await tenants.add(tx, actor, name, status)
    await organizations.found(tx, actor, tenant.id, organizations.DEFAULT)
    return tenant


async def forget(tx: Tx, actor: Actor, id: TenantId, reason: str) -> None:
    """A tenant that never came to be: as if it had not been named. The audit log remembers."""
    await organizations.forget(tx, id)
    await tenants.forget(tx, actor, id, reason)
