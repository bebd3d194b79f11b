"""Tenants over HTTP."""

from datetime import datetime

from fastapi import APIRouter, Depends

from penstock.central.access.roles import TenantRole
from penstock.central.tenants import service
from penstock.central.tenants.model import Tenant
from penstock.kernel.names import Name
from penstock.kernel.paging import Page, PageQuery
from penstock.kernel.web import Body, Caller, Tx, TxRoute, View, shown_once

router = APIRouter(prefix="/v1/tenants", tags=["tenants"], route_class=TxRoute)


class NewTenant(Body):
    name: Name


class NewTenantKey(Body):
    name: Name
    role: TenantRole


class TenantView(View):
    id: str
    name: str
    created_at: datetime

    @classmethod
    def of(cls, tenant: Tenant) -> "TenantView":
        return cls(id=tenant.id, name=tenant.name, created_at=tenant.created_at)


class TenantKeyView(View):
    id: str
    name: str
    role: str
    token: str


@router.get("")
async def list_tenants(actor: Caller, tx: Tx, paging: PageQuery) -> Page[TenantView]:
    """Tenants you may see."""
    rows = await service.page(tx, actor, paging.after, paging.fetch)
    return paging.page(rows, TenantView.of, lambda tenant: tenant.id)


@router.post("", status_code=201)
async def create_tenant(body: NewTenant, actor: Caller, tx: Tx) -> TenantView:
    """Create a tenant, with its organization `default`."""
    return TenantView.of(await service.create(tx, actor, name=body.name))


@router.get("/{id}")
async def get_tenant(id: str, actor: Caller, tx: Tx) -> TenantView:
    """One tenant."""
    return TenantView.of(await service.get(tx, actor, id))


@router.post("/{id}/keys", status_code=201, dependencies=[Depends(shown_once)])
async def create_tenant_key(id: str, body: NewTenantKey, actor: Caller, tx: Tx) -> TenantKeyView:
    """Make an API key for someone of this tenant. The token is shown only now."""
    key = await service.create_key(tx, actor, id, name=body.name, role=body.role)
    return TenantKeyView(id=key.id, name=key.name, role=key.role, token=key.token)
