"""Usage over HTTP."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from penstock.central.usage import service
from penstock.central.usage.model import Segment
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Caller, Tx, TxRoute, View

router = APIRouter(prefix="/v1/usage", tags=["usage"], route_class=TxRoute)


class UsageView(View):
    allocation: str
    tenant: str
    project: str
    sku: str
    gpus: int
    since: datetime = Field(serialization_alias="from")
    to: datetime | None
    seconds: float
    price_micros_per_gpu_hour: int
    cost_micros: int
    currency: str

    @classmethod
    def of(cls, segment: Segment, now: datetime) -> "UsageView":
        return cls(
            allocation=segment.allocation_id,
            tenant=segment.tenant_id,
            project=segment.project_id,
            sku=segment.sku_name,
            gpus=segment.gpus,
            since=segment.since,
            to=segment.to,
            seconds=service.duration_us(segment, now) / 1_000_000,
            price_micros_per_gpu_hour=segment.price_micros_per_gpu_hour,
            cost_micros=service.cost_micros(segment, now),
            currency=segment.currency,
        )


@router.get("")
async def list_usage(
    actor: Caller,
    tx: Tx,
    paging: PageQuery,
    allocation: Annotated[str | None, Query(max_length=64)] = None,
    project: Annotated[str | None, Query(max_length=64)] = None,
) -> Page[UsageView]:
    """Time in which GPUs were yours, from what nodes proved. Open segments run until now. Each
    member of a gang has its own; `allocation` may name one of them, or the gang."""
    rows = await service.page(
        tx, actor, allocation=allocation, project=project, after=paging.after, limit=paging.fetch
    )
    return paging.page(rows, lambda row: UsageView.of(row, tx.now), lambda row: row.allocation_id)
