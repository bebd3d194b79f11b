"""Clients over HTTP."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import Field

from penstock.central.access.roles import TenantRole
from penstock.central.realms.clients import service
from penstock.central.realms.clients.model import CODE, REFRESH, Client
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View, shown_once
from penstock.kernel.names import Name, Reference

router = APIRouter(prefix="/v1/clients", tags=["clients"], route_class=TxRoute)

Grant = Literal[
    "authorization_code",
    "refresh_token",
    "client_credentials",
    "urn:ietf:params:oauth:grant-type:device_code",
]
Scope = Literal["openid", "profile", "email", "offline_access", "read", "use", "administer", "keys"]
Uri = Annotated[str, Field(min_length=1, max_length=500)]


class NewClient(Body):
    name: Name
    redirect_uris: Annotated[list[Uri], Field(max_length=20)] = Field(default=[])
    grants: Annotated[list[Grant], Field(min_length=1, max_length=4)] = Field(
        default=[CODE, REFRESH]
    )
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=8)] = Field(
        default=["openid", "read"]
    )
    role: TenantRole | None = None
    public: bool = False
    tenant: Reference | None = None


class ClientView(View):
    id: str
    tenant: str
    name: str
    public: bool
    redirect_uris: list[str]
    grants: list[str]
    scopes: list[str]
    role: str | None
    created_at: datetime
    disabled_at: datetime | None

    @classmethod
    def of(cls, client: Client) -> "ClientView":
        return cls(
            id=client.id,
            tenant=client.tenant_id,
            name=client.name,
            public=client.public,
            redirect_uris=list(client.redirect_uris),
            grants=list(client.grants),
            scopes=list(client.scopes),
            role=client.role,
            created_at=client.created_at,
            disabled_at=client.disabled_at,
        )


class NewClientView(ClientView):
    secret: str | None


@router.get("")
async def list_clients(actor: Caller, tx: Tx, paging: PageQuery) -> Page[ClientView]:
    """The programs that may ask your realm for tokens."""
    rows = await service.page(tx, actor, paging.after, paging.fetch)
    return paging.page(rows, ClientView.of, lambda client: f"{client.tenant_id}/{client.id}")


@router.post("", status_code=201, dependencies=[Depends(shown_once)])
async def create_client(body: NewClient, actor: Caller, tx: Tx) -> NewClientView:
    """Register a client. A confidential one's secret is shown only now."""
    made = await service.create(
        tx,
        actor,
        tenant=body.tenant,
        name=body.name,
        redirect_uris=body.redirect_uris,
        grants=body.grants,
        scopes=body.scopes,
        role=body.role,
        public=body.public,
    )
    return NewClientView(**ClientView.of(made.client).model_dump(), secret=made.secret)


@router.get("/{id}")
async def get_client(id: str, actor: Caller, tx: Tx) -> ClientView:
    """One client. Its secret is not among it."""
    return ClientView.of(await service.get(tx, actor, id))


@router.post("/{id}/disable")
async def disable_client(id: str, actor: Caller, tx: Tx) -> ClientView:
    """Disable a client: it gets no more tokens, and those that it has are good no more."""
    return ClientView.of(await service.disable(tx, actor, id))
