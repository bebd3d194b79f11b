"""API keys over HTTP. A tenant's keys are made under the tenant; personal ones here."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import Field

from penstock.central.access import personal
from penstock.central.access.model import Key
from penstock.central.access.personal import LIFE_MAX
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View, shown_once
from penstock.kernel.names import Name

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=TxRoute)
Scope = Literal["read", "use", "administer"]


class NewPersonalKey(Body):
    name: Name
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=3)] = Field(default=["use"])
    days: Annotated[int, Field(ge=1, le=LIFE_MAX.days)] = 90


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


class PersonalKeyView(View):
    id: str
    name: str
    role: str
    scopes: list[str]
    expires_at: datetime
    token: str


@router.get("")
async def list_keys(actor: Caller, tx: Tx, paging: PageQuery) -> Page[KeyView]:
    """Your own API keys; as an admin, all of your tenant's. Tokens are not among it."""
    rows = await personal.page(tx, actor, paging.after, paging.fetch)
    return paging.page(rows, KeyView.of, lambda key: key.id)


@router.post("", status_code=201, dependencies=[Depends(shown_once)])
async def create_personal_key(body: NewPersonalKey, actor: Caller, tx: Tx) -> PersonalKeyView:
    """Make an API key for your own scripts, with a token whose scopes have `keys`. It is shown only
    now. It ends with the client through which it was made, and when your password is reset."""
    made, expires_at = await personal.create(
        tx, actor, name=body.name, scopes=body.scopes, days=body.days
    )
    return PersonalKeyView(
        id=made.id,
        name=made.name,
        role=made.role,
        scopes=list(body.scopes),
        expires_at=expires_at,
        token=made.token,
    )


@router.post("/{id}/revoke")
async def revoke_key(id: str, actor: Caller, tx: Tx) -> KeyView:
    """End a key: it is good no more."""
    return KeyView.of(await personal.revoke(tx, actor, id))
