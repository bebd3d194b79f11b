"""What may be done to a tenant. The caller owns the transaction."""

from collections.abc import Iterable
from dataclasses import replace

from penstock.central.access import handing, keys
from penstock.central.access.authorization import Resource, authorize
from penstock.central.access.keys import NewKey
from penstock.central.tenants import store
from penstock.central.tenants.model import Status, Tenant
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import NotFound
from penstock.kernel.events import Event
from penstock.kernel.questions import Question, ask
from penstock_contracts.ids import TenantId


async def add(tx: Tx, actor: Actor, name: str, status: Status) -> Tenant:
    """Only the tenant: `onboardings.founding` makes what a tenant has from the first."""
    authorize(actor, "tenant.create", Resource("tenant"))
    tenant = Tenant(TenantId.new(), name, tx.now, status)
    await store.add(tx, tenant)
    audit.record(tx, actor, "tenant.create", tenant.id, tenant_id=tenant.id, name=name)
    events.emit(tx, "tenant.created", tenant.id, tenant_id=tenant.id, name=name, status=status)
    return tenant


async def forget(tx: Tx, actor: Actor, id: TenantId, reason: str) -> None:
    """Only the tenant, when nothing is its any more. The audit log remembers."""
    await store.forget(tx, id)
    audit.record(tx, actor, "tenant.forget", id, tenant_id=id, reason=reason)
    events.emit(tx, "tenant.forgotten", id, tenant_id=id, reason=reason)


async def get(tx: Tx, actor: Actor, reference: str) -> Tenant:
    """By id or by name."""
    tenant = await store.get(tx, reference)
    authorize(actor, "tenant.view", Resource("tenant", tenant.id, tenant.id), asked=reference)
    return tenant


async def lock(tx: Tx, id: TenantId) -> Tenant:
    """Nobody else changes it until the transaction ends."""
    tenant = await store.lock(tx, id)
    if tenant is None:
        raise NotFound("tenant", id)
    return tenant


async def named(tx: Tx, name: str) -> Tenant | None:
    """For the system, which sees all."""
    return await store.named(tx, name)


def statuses(ids: Iterable[TenantId]) -> Question[dict[TenantId, Status]]:
    return store.statuses(sorted(set(ids)))


async def status(tx: Tx, id: TenantId) -> Status:
    return (await ask(tx, statuses([id])))[id]


async def with_status(tx: Tx, resource: Resource) -> Resource:
    """With the status of its tenant: who comes or goes is not changed. The platform has none."""
    if resource.tenant_id is None:
        return resource
    return replace(resource, status=await status(tx, resource.tenant_id))


async def owner(tx: Tx, actor: Actor, tenant: str | None, action: str) -> TenantId | None:
    """Whose a new thing is: one's own tenant's, or that of the one which the platform names; if it
    names none, the platform's own. Raises unless the actor may make it there."""
    noun, reference = action.partition(".")[0], tenant or actor.tenant_id
    if reference is None:
        authorize(actor, action, Resource(noun))
        return None
    whole = await get(tx, actor, reference)
    authorize(actor, action, Resource(noun, None, whole.id, status=whole.status))
    return whole.id


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[Tenant]:
    authorize(actor, "tenant.view", Resource("tenant", None, actor.tenant_id))
    return await store.page(tx, after, limit)


async def timeline(tx: Tx, actor: Actor, reference: str) -> list[Event]:
    """The last that happened to it, in order, from the event log."""
    tenant = await get(tx, actor, reference)
    return await events.latest(tx, tenant.id, limit=1000)


async def create_key(tx: Tx, actor: Actor, id: str, *, name: str, role: str) -> NewKey:
    tenant = await store.get(tx, id)
    authorize(actor, "key.create", resource(tenant), asked=id)
    given = handing.top(role, tenant.id)
    handing.refuse_wider(actor, "key.create", resource(tenant), given, handing.TOP)
    return await keys.create(tx, actor, tenant_id=tenant.id, name=name, role=role)


def resource(tenant: Tenant) -> Resource:
    """The tenant as something that may not be changed while it comes or goes."""
    return Resource("tenant", tenant.id, tenant.id, status=tenant.status)
