"""What may be done to a tenant. The caller owns the transaction."""

from penstock.central.access import keys
from penstock.central.access.authorization import Resource, authorize
from penstock.central.access.keys import NewKey
from penstock.central.organizations import founding
from penstock.central.realms import creation as realms
from penstock.central.tenants import store
from penstock.central.tenants.model import Tenant
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock_contracts.ids import TenantId


async def create(tx: Tx, actor: Actor, *, name: str) -> Tenant:
    """A tenant, with the organization that its projects belong to by default."""
    authorize(actor, "tenant.create", Resource("tenant"))
    tenant = Tenant(TenantId.new(), name, tx.now)
    await store.add(tx, tenant)
    await realms.create(tx, tenant.id, name)
    audit.record(tx, actor, "tenant.create", tenant.id, tenant_id=tenant.id, name=name)
    events.emit(tx, "tenant.created", tenant.id, tenant_id=tenant.id, name=name)
    await founding.found(tx, actor, tenant.id, founding.DEFAULT)
    return tenant


async def get(tx: Tx, actor: Actor, id: str) -> Tenant:
    tenant = await store.get(tx, id)
    authorize(actor, "tenant.view", Resource("tenant", tenant.id, tenant.id))
    return tenant


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[Tenant]:
    authorize(actor, "tenant.view", Resource("tenant", None, actor.tenant_id))
    return await store.page(tx, after, limit)


async def create_key(tx: Tx, actor: Actor, id: str, *, name: str, role: str) -> NewKey:
    tenant = await store.get(tx, id)
    authorize(actor, "key.create", Resource("tenant", tenant.id, tenant.id))
    return await keys.create(tx, actor, tenant_id=tenant.id, name=name, role=role)
