"""A realm is made with its tenant, or by its onboarding."""

from penstock.central.realms import store
from penstock.central.realms.clients import builtin
from penstock.central.realms.hosts import service as hosting
from penstock.kernel.db import Tx
from penstock_contracts.ids import TenantId


async def create(tx: Tx, tenant_id: TenantId, name: str) -> None:
    """A realm with the command line as its first client. Its keys are made when first needed."""
    await store.add(tx, tenant_id, name)
    await builtin.add_command_line(tx, tenant_id)


async def order(tx: Tx, tenant_id: TenantId, name: str, provider: str) -> None:
    """A realm that shall live elsewhere. It has neither keys nor clients here."""
    await store.add(tx, tenant_id, name)
    await hosting.order(tx, tenant_id, name, provider)


async def suspend(tx: Tx, tenant_id: TenantId, *, suspended: bool) -> bool:
    """Nobody comes in, and no token is believed; or again. Whether that changed anything."""
    return await store.suspend(tx, tenant_id, suspended=suspended)


async def owner_of(tx: Tx, name: str) -> str | None:
    return await store.owner_of(tx, name)


async def exists(tx: Tx, tenant_id: TenantId) -> bool:
    return await store.exists(tx, tenant_id)


async def forget(tx: Tx, tenant_id: TenantId) -> None:
    """Of a tenant that never came to be: nobody ever came in through it."""
    await store.forget(tx, tenant_id)
