"""Sites over HTTP."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import Field

from penstock.central.sites import service
from penstock.central.sites.model import Site
from penstock.central.sites.service import Trust
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View, shown_once
from penstock.kernel.names import Name, Tags

router = APIRouter(prefix="/v1/sites", tags=["sites"], route_class=TxRoute)


async def _trust(request: Request) -> Trust:
    trust: Trust = request.app.state.trust
    return trust


CentralTrust = Annotated[Trust, Depends(_trust)]


class NewSite(Body):
    name: Name
    auto_approve: bool = False
    tags: Tags = Field(default_factory=list[str])


class SiteChange(Body):
    tags: Tags


class NewNodeTokens(Body):
    count: Annotated[int, Field(ge=1, le=10_000)] = 1


class SiteView(View):
    id: str
    name: str
    status: str
    auto_approve: bool
    connected: bool
    connected_at: datetime | None
    away: bool
    tags: list[str]
    version: str
    join_address: str
    created_at: datetime

    @classmethod
    def of(cls, site: Site) -> "SiteView":
        return cls(
            id=site.id,
            name=site.name,
            status=site.status,
            auto_approve=site.auto_approve,
            connected=site.connected,
            connected_at=site.connected_at,
            away=site.away,
            tags=list(site.tags),
            version=site.version,
            join_address=site.join_address,
            created_at=site.created_at,
        )


class TokenView(View):
    id: str
    token: str
    expires_at: datetime


class TokenList(View):
    items: list[TokenView]


@router.get("")
async def list_sites(actor: Caller, tx: Tx, paging: PageQuery) -> Page[SiteView]:
    """Every site."""
    rows = await service.page(tx, actor, paging.after, paging.fetch)
    return paging.page(rows, SiteView.of, lambda site: site.id)


@router.post("", status_code=201)
async def create_site(body: NewSite, actor: Caller, tx: Tx) -> SiteView:
    """Announce a site. It joins with a token."""
    site = await service.create(
        tx, actor, name=body.name, auto_approve=body.auto_approve, tags=tuple(body.tags)
    )
    return SiteView.of(site)


@router.get("/{id}")
async def get_site(id: str, actor: Caller, tx: Tx) -> SiteView:
    """One site, by id or by name."""
    return SiteView.of(await service.get(tx, actor, id))


@router.patch("/{id}")
async def change_site(id: str, body: SiteChange, actor: Caller, tx: Tx) -> SiteView:
    """Replace the site's tags. Its nodes have them, too."""
    return SiteView.of(await service.tag(tx, actor, id, tuple(body.tags)))


@router.post("/{id}/token", status_code=201, dependencies=[Depends(shown_once)])
async def create_site_token(id: str, actor: Caller, tx: Tx, trust: CentralTrust) -> TokenView:
    """A single-use token with which a control plane becomes this site."""
    issued = await service.create_token(tx, actor, id, trust)
    return TokenView(id=issued.id, token=issued.text, expires_at=issued.expires_at)


@router.post("/{id}/node-tokens", status_code=201, dependencies=[Depends(shown_once)])
async def create_node_tokens(
    id: str, body: NewNodeTokens, actor: Caller, tx: Tx, trust: CentralTrust
) -> TokenList:
    """Single-use tokens with which nodes join this site."""
    issued = await service.create_node_tokens(tx, actor, id, body.count, trust)
    views = [TokenView(id=one.id, token=one.text, expires_at=one.expires_at) for one in issued]
    return TokenList(items=views)
