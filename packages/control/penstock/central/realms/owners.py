"""Whose realm is meant: one's own tenant, or the one that the platform names."""

from penstock.central.tenants import service as tenants
from penstock.central.tenants.model import Tenant
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid


async def of(tx: Tx, actor: Actor, tenant: str | None) -> Tenant:
    owner = tenant or actor.tenant_id
    if owner is None:
        raise Invalid("tenant: say whose realm is meant; you belong to none")
    return await tenants.get(tx, actor, owner)
