"""What may be done to an organization. The caller owns the transaction."""

from typing import Final

from penstock.central.access.authorization import Resource, authorize, authorize_list
from penstock.central.organizations import store
from penstock.central.organizations.model import Organization
from penstock.central.tenants import service as tenants
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid, NotFound
from penstock_contracts.ids import OrganizationId, TenantId

DEFAULT: Final = "default"


async def create(tx: Tx, actor: Actor, *, name: str, tenant: str | None) -> Organization:
    owner = await tenants.owner(tx, actor, tenant, "organization.create")
    if owner is None:
        raise Invalid("tenant: say which tenant the organization is for; you belong to none")
    return await found(tx, actor, owner, name)


async def found(tx: Tx, actor: Actor, tenant_id: TenantId, name: str) -> Organization:
    """For whoever may. A tenant's first one is made with the tenant."""
    organization = Organization(OrganizationId.new(), tenant_id, name, tx.now)
    await store.add(tx, organization)
    audit.record(tx, actor, "organization.create", organization.id, tenant_id=tenant_id, name=name)
    events.emit(tx, "organization.created", organization.id, tenant_id=tenant_id, name=name)
    return organization


async def forget(tx: Tx, tenant_id: TenantId) -> None:
    """All of a tenant that never came to be."""
    await store.forget(tx, tenant_id)


async def get(tx: Tx, actor: Actor, reference: str) -> Organization:
    """By id or by name."""
    found = await meant(tx, actor, reference)
    authorize(actor, "organization.view", resource(found), asked=reference)
    return found


async def meant(tx: Tx, actor: Actor, reference: str) -> Organization:
    """The one that the actor means. Whether it may know of it is for the caller to ask."""
    found = await store.find(tx, reference)
    mine = [o for o in found if actor.tenant_id in (None, o.tenant_id)]
    if len(mine) > 1:
        raise Invalid(
            f"organization: {reference!r} names organizations of several tenants; use the id"
        )
    if not mine:
        raise NotFound("organization", reference)
    return mine[0]


async def named(tx: Tx, tenant_id: TenantId, name: str) -> Organization | None:
    """For the system, which sees all."""
    found = [o for o in await store.find(tx, name) if (o.tenant_id, o.name) == (tenant_id, name)]
    return found[0] if found else None


def resource(organization: Organization) -> Resource:
    return Resource("organization", organization.id, organization.tenant_id, organization.id)


async def of_tenant(tx: Tx, tenant_id: TenantId, reference: str | None) -> Organization:
    """The tenant's organization of that id or name; its default one if none is named."""
    wanted = reference or DEFAULT
    for organization in await store.find(tx, wanted):
        if organization.tenant_id == tenant_id:
            return organization
    raise unknown(tenant_id, reference)


def unknown(tenant_id: TenantId, reference: str | None) -> Invalid:
    """Also what is said of one that the actor may not see."""
    return Invalid(
        f"organization: tenant {tenant_id} has no organization {reference or DEFAULT!r}",
        code="unknown_organization",
        suggestion="`penstock organization ls` lists those there are",
    )


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[Organization]:
    return await store.page(tx, authorize_list(actor, "organization"), after, limit)
