"""Quotas over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from penstock.central.quotas import scopes, service
from penstock.central.quotas.model import TOTAL, Line
from penstock.kernel.names import Name, Reference
from penstock.kernel.paging import Page
from penstock.kernel.web import Body, Caller, Tx, TxRoute, View

router = APIRouter(prefix="/v1/quotas", tags=["quotas"], route_class=TxRoute)

Which = Annotated[str | None, Query(min_length=1, max_length=64)]


class NewQuota(Body):
    """One limit of one scope. No family: of all families together."""

    tenant: Reference | None = None
    organization: Reference | None = None
    project: Reference | None = None
    family: Name | None = None
    gpus_max: Annotated[int, Field(ge=0, le=1_000_000)]


class QuotaView(View):
    """`family` is null for the total; `gpus_max` is null where nothing is limited."""

    scope: str
    scope_id: str
    family: str | None
    gpus_max: int | None
    gpus_used: int

    @classmethod
    def of(cls, line: Line) -> "QuotaView":
        return cls(
            scope=line.level,
            scope_id=line.scope_id,
            family=line.family or None,
            gpus_max=line.gpus_max,
            gpus_used=line.gpus_used,
        )


@router.get("")
async def list_quotas(
    actor: Caller, tx: Tx, tenant: Which = None, organization: Which = None, project: Which = None
) -> Page[QuotaView]:
    """What a tenant (yours, if you name nothing), an organization or a project holds and may
    hold: in total, and of each family that is limited or held."""
    scope = await scopes.find(tx, actor, tenant=tenant, organization=organization, project=project)
    return Page(items=[QuotaView.of(line) for line in await service.lines(tx, actor, scope)])


@router.put("")
async def set_quota(body: NewQuota, actor: Caller, tx: Tx) -> QuotaView:
    """Limit how many GPUs a tenant, an organization or a project may hold at once.

    Never below what it holds now, nor above what the tenant or organization around it may."""
    scope = await scopes.find(
        tx, actor, tenant=body.tenant, organization=body.organization, project=body.project
    )
    family = body.family or TOTAL
    return QuotaView.of(await service.set_limit(tx, actor, scope, family, body.gpus_max))


@router.delete("")
async def remove_quota(
    actor: Caller,
    tx: Tx,
    tenant: Which = None,
    organization: Which = None,
    project: Which = None,
    family: Which = None,
) -> QuotaView:
    """Remove a limit. Those of the tenant or organization around it stay."""
    scope = await scopes.find(tx, actor, tenant=tenant, organization=organization, project=project)
    return QuotaView.of(await service.remove_limit(tx, actor, scope, family or TOTAL))
