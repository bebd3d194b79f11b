"""The clients that are Penstock's own: the command line, which every realm has, and the portal."""

from penstock.central.realms.clients import store
from penstock.central.realms.clients.model import CODE, COMMAND_LINE, DEVICE, REFRESH, Client
from penstock.central.realms.model import SCOPES
from penstock.kernel.db import Tx
from penstock_contracts.drivers.realm import PORTAL
from penstock_contracts.ids import TenantId


async def add_command_line(tx: Tx, tenant_id: TenantId) -> None:
    client = Client(
        id=COMMAND_LINE,
        tenant_id=tenant_id,
        name="Penstock command line",
        secret_hash=None,
        redirect_uris=("http://127.0.0.1/callback", "http://[::1]/callback"),
        grants=(CODE, REFRESH, DEVICE),
        scopes=SCOPES,
        role=None,
        trusted=False,  # any program can say that it is this one
        created_at=tx.now,
    )
    await store.add(tx, client)


async def ensure_portal(tx: Tx, tenant_id: TenantId, callback: str) -> None:
    if await store.find(tx, tenant_id, PORTAL) is not None:
        return
    client = Client(
        id=PORTAL,
        tenant_id=tenant_id,
        name="Penstock portal",
        secret_hash=None,
        redirect_uris=(callback,),
        grants=(CODE, REFRESH),
        scopes=SCOPES,
        role=None,
        trusted=False,
        created_at=tx.now,
    )
    await store.add(tx, client)
