"""API keys over HTTP. A tenant's are made under the tenant, personal ones by its realm's users."""

from datetime import datetime

from fastapi import APIRouter

from penstock.central.access import service
from penstock.central.access.model import Key
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Caller, Tx, TxRoute, View

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=TxRoute)


class KeyView(View):
    id: str
    tenant: str | None
    user: str | None
    service_account: str | None
    client: str | None  # through which its owner made it
    name: str
    role: str
    scopes: list[str] | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None

    @classmethod
    def of(cls, key: Key) -> "KeyView":
        return cls(
            id=key.id,
            tenant=key.tenant_id,
            user=key.user_id,
            service_account=key.service_account_id,
            client=key.client_id,
            name=key.name,
            role=key.role,
            scopes=None if key.scopes is None else list(key.scopes),
            created_at=key.created_at,
            expires_at=key.expires_at,
            revoked_at=key.revoked_at,
        )


@router.get("")
async def list_keys(actor: Caller, tx: Tx, paging: PageQuery) -> Page[KeyView]:
    """Your own API keys; as an admin, all of your tenant's. Tokens are not among it."""
    rows = await service.page(tx, actor, paging.after, paging.fetch)
    return paging.page(rows, KeyView.of, lambda key: key.id)


@router.post("/{id}/revoke")
async def revoke_key(id: str, actor: Caller, tx: Tx) -> KeyView:
    """End a key: it is good no more."""
    return KeyView.of(await service.revoke(tx, actor, id))
