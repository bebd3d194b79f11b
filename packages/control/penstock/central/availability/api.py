"""Availability over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Query

from penstock.central.availability import service
from penstock.central.availability.model import Size, Stock
from penstock.central.defragmentation.seams import Database, Fleet, Moves
from penstock.kernel.http.paging import Page
from penstock.kernel.http.web import BareRoute, Caller, CorrelationId, View
from penstock.kernel.names import Reference
from penstock_contracts.ids import SiteId

router = APIRouter(prefix="/v1/availability", tags=["availability"], route_class=BareRoute)


class SizeView(View):
    gpus: int
    now: int
    after_defragmentation: int

    @classmethod
    def of(cls, size: Size) -> "SizeView":
        return cls(gpus=size.gpus, now=size.now, after_defragmentation=size.after_defragmentation)


class AvailabilityView(View):
    sku: str
    sku_id: str
    shape: str
    family: str
    site: str
    site_name: str
    price_micros_per_gpu_hour: int
    currency: str
    sizes: list[SizeView]

    @classmethod
    def of(cls, stock: Stock, site_name: str) -> "AvailabilityView":
        sku = stock.sku
        return cls(
            sku=sku.name,
            sku_id=sku.id,
            shape=sku.shape,
            family=sku.family,
            site=stock.site_id,
            site_name=site_name,
            price_micros_per_gpu_hour=sku.price_micros_per_gpu_hour,
            currency=sku.currency,
            sizes=[SizeView.of(size) for size in stock.sizes],
        )


@router.get("")
async def list_availability(
    actor: Caller,
    correlation_id: CorrelationId,
    database: Database,
    fleet: Fleet,
    planner: Moves,
    sku: Annotated[Reference | None, Query()] = None,
    site: Annotated[Reference | None, Query()] = None,
) -> Page[AvailabilityView]:
    """How many leases of each size fit now, by SKU and site, if only that size were asked for;
    and how many after defragmentation. Limits of the tenant are not counted in."""
    seen = await database.run(
        lambda tx: service.look(tx, actor, fleet, sku=sku, site=site),
        correlation_id=correlation_id,
        patient=False,
    )
    stocks = await service.stock(seen, planner)
    return Page(
        items=[
            AvailabilityView.of(stock, seen.names.get(SiteId(stock.site_id), ""))
            for stock in stocks
        ]
    )
