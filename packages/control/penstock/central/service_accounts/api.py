"""Service accounts over HTTP."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import Field

from penstock.central.service_accounts import service
from penstock.central.service_accounts.model import ServiceAccount
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View, shown_once
from penstock.kernel.names import Name, Reference

router = APIRouter(prefix="/v1/service-accounts", tags=["roles"], route_class=TxRoute)


class NewServiceAccount(Body):
    name: Name
    tenant: Reference | None = None


class NewServiceAccountKey(Body):
    name: Name
    days: Annotated[int, Field(ge=1, le=3650)] | None = None  # null: until it is revoked


class ServiceAccountView(View):
    id: str
    tenant: str | None
    name: str
    status: Literal["active", "disabled"]
    created_at: datetime

    @classmethod
    def of(cls, account: ServiceAccount) -> "ServiceAccountView":
        return cls(
            id=account.id,
            tenant=account.tenant_id,
            name=account.name,
            status="disabled" if account.disabled_at else "active",
            created_at=account.created_at,
        )


class ServiceAccountKeyView(View):
    id: str
    name: str
    service_account: str
    token: str


@router.get("")
async def list_service_accounts(
    actor: Caller, tx: Tx, paging: PageQuery
) -> Page[ServiceAccountView]:
    """Service accounts you may see."""
    rows = await service.page(tx, actor, paging.after, paging.fetch)
    return paging.page(rows, ServiceAccountView.of, lambda account: account.id)


@router.post("", status_code=201)
async def create_service_account(
    body: NewServiceAccount, actor: Caller, tx: Tx
) -> ServiceAccountView:
    """Create a service account in your tenant (or, as the platform, in the one you name, or its
    own). It may do nothing until a role is bound to it."""
    made = await service.create(tx, actor, name=body.name, tenant=body.tenant)
    return ServiceAccountView.of(made)


@router.post("/{id}/keys", status_code=201, dependencies=[Depends(shown_once)])
async def create_service_account_key(
    id: str, body: NewServiceAccountKey, actor: Caller, tx: Tx
) -> ServiceAccountKeyView:
    """Make an API key for it. The token is shown only now."""
    key = await service.create_key(tx, actor, id, name=body.name, days=body.days)
    return ServiceAccountKeyView(id=key.id, name=key.name, service_account=id, token=key.token)


@router.post("/{id}/disable")
async def disable_service_account(id: str, actor: Caller, tx: Tx) -> ServiceAccountView:
    """Refuse its keys from now on."""
    return ServiceAccountView.of(await service.disable(tx, actor, id))


@router.post("/{id}/enable")
async def enable_service_account(id: str, actor: Caller, tx: Tx) -> ServiceAccountView:
    """Let its keys be good again."""
    return ServiceAccountView.of(await service.enable(tx, actor, id))
