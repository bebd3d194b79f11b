"""Providers over HTTP."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field

from penstock.central.realms.providers import service
from penstock.central.realms.providers.model import Provider
from penstock.central.realms.service import Realms
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View
from penstock.kernel.names import Name, Reference

router = APIRouter(prefix="/v1/providers", tags=["providers"], route_class=TxRoute)


class NewProvider(Body):
    name: Name
    issuer: Annotated[str, Field(min_length=8, max_length=500)]
    client_id: Annotated[str, Field(min_length=1, max_length=200)]
    client_secret: Annotated[str, Field(min_length=1, max_length=500)]
    tenant: Reference | None = None


class ProviderView(View):
    id: str
    tenant: str
    name: str
    issuer: str
    client_id: str
    created_at: datetime
    disabled_at: datetime | None

    @classmethod
    def of(cls, provider: Provider) -> "ProviderView":
        return cls(
            id=provider.id,
            tenant=provider.tenant_id,
            name=provider.name,
            issuer=provider.issuer,
            client_id=provider.client_id,
            created_at=provider.created_at,
            disabled_at=provider.disabled_at,
        )


@router.get("")
async def list_providers(actor: Caller, tx: Tx, paging: PageQuery) -> Page[ProviderView]:
    """The other issuers through which people of your tenant may sign in."""
    rows = await service.page(tx, actor, paging.after, paging.fetch)
    return paging.page(rows, ProviderView.of, lambda provider: provider.id)


@router.post("", status_code=201)
async def create_provider(
    body: NewProvider, actor: Caller, tx: Tx, request: Request
) -> ProviderView:
    """Let a tenant's people sign in through another OpenID Connect issuer."""
    realms: Realms = request.app.state.realms
    provider = await service.create(
        tx,
        actor,
        realms.seal,
        tenant=body.tenant,
        name=body.name,
        issuer=body.issuer,
        client_id=body.client_id,
        client_secret=body.client_secret,
    )
    return ProviderView.of(provider)


@router.post("/{id}/disable")
async def disable_provider(id: str, actor: Caller, tx: Tx) -> ProviderView:
    """Nobody signs in through it any more; who is in stays in."""
    return ProviderView.of(await service.disable(tx, actor, id))
