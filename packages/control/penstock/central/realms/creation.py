"""A realm is made with its tenant, or by its onboarding."""

from penstock.central.realms import store
from penstock.central.realms.clients import builtin
from penstock.kernel.db import Tx
from penstock_contracts.ids import TenantId


async def create(tx: Tx, tenant_id: TenantId, name: str) -> None:
    """A realm with the command line as its first client. Its keys are made when first needed."""
    await store.add(tx, tenant_id, name)
    await builtin.add_command_line(tx, tenant_id)


async def exists(tx: Tx, tenant_id: TenantId) -> bool:
    return await store.exists(tx, tenant_id)


async def forget(tx: Tx, tenant_id: TenantId) -> None:
    """Of a tenant that never came to be: nobody ever came in through it."""
    await store.forget(tx, tenant_id)
