"""Whose realm is meant: one's own tenant, or the one that the platform names."""

from penstock.central.tenants import service as tenants
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid
from penstock_contracts.ids import TenantId


async def of(tx: Tx, actor: Actor, tenant: str | None) -> TenantId:
    owner = tenant or actor.tenant_id
    if owner is None:
        raise Invalid("tenant: say whose realm is meant; you belong to none")
    return (await tenants.get(tx, actor, owner)).id
