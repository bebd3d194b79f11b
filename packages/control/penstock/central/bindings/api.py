"""Role bindings over HTTP."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from penstock.central.access.roles import Role
from penstock.central.bindings import service
from penstock.central.bindings.conditions import ConditionsView, NewConditions
from penstock.central.bindings.model import Binding
from penstock.central.bindings.places import Named
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View
from penstock.kernel.names import Reference

router = APIRouter(prefix="/v1/role-bindings", tags=["roles"], route_class=TxRoute)
Which = Annotated[Reference | None, Query()]


class NewBinding(Body):
    """Where: one of tenant, organization, project and site; your tenant (or, for the platform's
    own, the platform) if none is named."""

    subject: Annotated[
        Reference, Field(description="A user, group, service account, key or client.")
    ]
    role: Annotated[Role, Field(strict=False)]
    tenant: Reference | None = None
    organization: Reference | None = None
    project: Reference | None = None
    site: Reference | None = None
    conditions: NewConditions = NewConditions()

    def place(self) -> Named:
        return Named(self.tenant, self.organization, self.project, self.site)


class BindingView(View):
    id: str
    tenant: str | None
    subject: str
    subject_kind: str
    role: str
    scope: str
    scope_id: str
    conditions: ConditionsView
    created_by: str
    created_at: datetime

    @classmethod
    def of(cls, binding: Binding) -> "BindingView":
        return cls(
            id=binding.id,
            tenant=binding.tenant_id,
            subject=binding.subject_id,
            subject_kind=binding.subject,
            role=binding.role,
            scope=binding.scope,
            scope_id=binding.scope_id,
            conditions=ConditionsView.of(binding.conditions),
            created_by=binding.created_by,
            created_at=binding.created_at,
        )


@router.get("")
async def list_role_bindings(
    actor: Caller, tx: Tx, paging: PageQuery, subject: Which = None, scope: Which = None
) -> Page[BindingView]:
    """Who has which role where, as far as you may see it; all, or of one subject or place."""
    rows = await service.page(
        tx, actor, subject=subject, scope=scope, after=paging.after, limit=paging.fetch
    )
    return paging.page(rows, BindingView.of, lambda binding: binding.id)


@router.post("", status_code=201)
async def bind_role(body: NewBinding, actor: Caller, tx: Tx) -> BindingView:
    """Give a user, group, service account, key or client a role at a place, and in all of it."""
    made = await service.bind(
        tx,
        actor,
        subject=body.subject,
        role=body.role,
        at=body.place(),
        conditions=body.conditions.stored(),
    )
    return BindingView.of(made)


@router.delete("/{id}")
async def unbind_role(id: str, actor: Caller, tx: Tx) -> BindingView:
    """Take a role away again. The next request of whoever had it is without it."""
    return BindingView.of(await service.unbind(tx, actor, id))
