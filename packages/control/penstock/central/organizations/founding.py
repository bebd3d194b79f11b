"""Making an organization, for whoever may. A tenant's first one is made with the tenant."""

from typing import Final

from penstock.central.organizations import store
from penstock.central.organizations.model import Organization
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock_contracts.ids import OrganizationId, TenantId

DEFAULT: Final = "default"


async def found(tx: Tx, actor: Actor, tenant_id: TenantId, name: str) -> Organization:
    organization = Organization(OrganizationId.new(), tenant_id, name, tx.now)
    await store.add(tx, organization)
    audit.record(tx, actor, "organization.create", organization.id, tenant_id=tenant_id, name=name)
    events.emit(tx, "organization.created", organization.id, tenant_id=tenant_id, name=name)
    return organization


async def forget(tx: Tx, tenant_id: TenantId) -> None:
    """All of a tenant that never came to be."""
    await store.forget(tx, tenant_id)
