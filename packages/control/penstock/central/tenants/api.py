"""Tenants over HTTP."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import Field

from penstock.central.access.roles import TenantRole
from penstock.central.tenants import life, service
from penstock.central.tenants.model import Tenant
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View, shown_once
from penstock.kernel.names import Name, Text

router = APIRouter(prefix="/v1/tenants", tags=["tenants"], route_class=TxRoute)


class NewTenantKey(Body):
    name: Name
    role: TenantRole


class Because(Body):
    """Why; kept in the audit log and shown to the tenant."""

    reason: Annotated[Text, Field(min_length=1)]


class TenantView(View):
    id: str
    name: str
    status: str
    status_reason: str
    status_at: datetime
    created_at: datetime

    @classmethod
    def of(cls, tenant: Tenant) -> "TenantView":
        return cls(
            id=tenant.id,
            name=tenant.name,
            status=tenant.status,
            status_reason=tenant.status_reason,
            status_at=tenant.status_at or tenant.created_at,
            created_at=tenant.created_at,
        )


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


@router.get("/{id}")
async def get_tenant(id: str, actor: Caller, tx: Tx) -> TenantView:
    """One tenant, by id or by name."""
    return TenantView.of(await service.get(tx, actor, id))


@router.get("/{id}/timeline")
async def get_tenant_timeline(id: str, actor: Caller, tx: Tx) -> Page[dict[str, object]]:
    """The last that happened to a tenant, in order."""
    happened = await service.timeline(tx, actor, id)
    return Page(items=[event.envelope() for event in happened])


@router.post("/{id}/suspend")
async def suspend_tenant(id: str, body: Because, actor: Caller, tx: Tx) -> TenantView:
    """No new leases. Those that run go on, and everything can be seen and released."""
    return TenantView.of(await life.suspend(tx, actor, id, body.reason))


@router.post("/{id}/resume")
async def resume_tenant(id: str, body: Because, actor: Caller, tx: Tx) -> TenantView:
    """Let a suspended tenant lease again."""
    return TenantView.of(await life.resume(tx, actor, id, body.reason))


@router.post("/{id}/keys", status_code=201, dependencies=[Depends(shown_once)])
async def create_tenant_key(id: str, body: NewTenantKey, actor: Caller, tx: Tx) -> TenantKeyView:
    """Make an API key for someone of this tenant. The token is shown only now."""
    key = await service.create_key(tx, actor, id, name=body.name, role=body.role)
    return TenantKeyView(id=key.id, name=key.name, role=key.role, token=key.token)
