"""Whose realm is meant: one's own tenant, or the one that the platform names."""

from penstock.central.tenants import service as tenants
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid
from penstock_contracts.ids import TenantId


async def of(tx: Tx, actor: Actor, tenant: str | None, action: str) -> TenantId:
    """Raises unless the actor may do this there."""
    owner = await tenants.owner(tx, actor, tenant, action)
    if owner is None:
        raise Invalid("tenant: say whose realm is meant; you belong to none")
    return owner
