"""Quotas over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Query

from penstock.central.quotas import scopes, service
from penstock.central.quotas.form import Limit
from penstock.central.quotas.model import Kind, Line, Measure
from penstock.kernel.errors import Invalid
from penstock.kernel.http.paging import Page
from penstock.kernel.http.web import Caller, Tx, TxRoute, View
from penstock.kernel.names import Currency, Reference

router = APIRouter(prefix="/v1/quotas", tags=["quotas"], route_class=TxRoute)

Which = Annotated[str | None, Query(min_length=1, max_length=64)]


class NewQuota(Limit):
    """One limit of one scope: exactly one `_max`. `family` goes with `gpus_max` (without it: of all
    families together), `currency` with `spend_micros_max` (for each calendar month, UTC)."""

    tenant: Reference | None = None
    organization: Reference | None = None
    project: Reference | None = None


class QuotaView(View):
    """`limit` is null where nothing is limited. Of money: `used` is what this month has cost so
    far, and `burn_micros_per_hour` what all that lives costs. `family` is null for GPUs of all
    families; `gpus_max` and `gpus_used` are `limit` and `used` of GPUs, and null otherwise."""

    scope: str
    scope_id: str
    kind: Kind
    family: str | None
    currency: str | None
    limit: int | None
    used: int
    burn_micros_per_hour: int | None
    gpus_max: int | None
    gpus_used: int | None

    @classmethod
    def of(cls, line: Line) -> "QuotaView":
        kind = line.measure.kind
        return cls(
            scope=line.level,
            scope_id=line.scope_id,
            kind=kind,
            family=line.measure.family or None,
            currency=line.measure.currency or None,
            limit=line.limit,
            used=line.used,
            burn_micros_per_hour=line.due if kind is Kind.SPEND else None,
            gpus_max=line.limit if kind is Kind.GPUS else None,
            gpus_used=line.used if kind is Kind.GPUS else None,
        )


@router.get("")
async def list_quotas(
    actor: Caller, tx: Tx, tenant: Which = None, organization: Which = None, project: Which = None
) -> Page[QuotaView]:
    """What a tenant (yours, if you name nothing), an organization or a project uses and may use:
    GPUs in total and of each family that is limited or held, then whatever else is limited."""
    scope = await scopes.find(tx, actor, tenant=tenant, organization=organization, project=project)
    return Page(items=[QuotaView.of(line) for line in await service.lines(tx, actor, scope)])


@router.put("")
async def set_quota(body: NewQuota, actor: Caller, tx: Tx) -> QuotaView:
    """Limit what a tenant, an organization or a project may hold at once, or spend in a month.

    Never below what it uses now, nor above what the tenant or organization around it may."""
    scope = await scopes.find(
        tx, actor, tenant=body.tenant, organization=body.organization, project=body.project
    )
    return QuotaView.of(await service.set_limit(tx, actor, scope, body.measure, body.most))


@router.delete("")
async def remove_quota(
    actor: Caller,
    tx: Tx,
    tenant: Which = None,
    organization: Which = None,
    project: Which = None,
    kind: Kind = Kind.GPUS,
    family: Which = None,
    currency: Annotated[Currency | None, Query()] = None,
) -> QuotaView:
    """Remove a limit. Those of the tenant or organization around it stay."""
    if (family is not None and kind is not Kind.GPUS) or (kind is Kind.SPEND) == (currency is None):
        raise Invalid("a family goes with kind gpus; a currency with kind spend, and that with it")
    scope = await scopes.find(tx, actor, tenant=tenant, organization=organization, project=project)
    measure = Measure(kind, family or "", currency or "")
    return QuotaView.of(await service.remove_limit(tx, actor, scope, measure))
