"""The catalog over HTTP."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field, field_validator

from penstock.central.skus import service
from penstock.central.skus.model import Sku
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View
from penstock.kernel.names import Currency, Name
from penstock.placement.model import Shape
from penstock_contracts.ids import SkuId

router = APIRouter(prefix="/v1/skus", tags=["skus"], route_class=TxRoute)


class NewSku(Body):
    name: Name
    shape: Literal["baremetal", "gpu_slice"]
    family: Name
    gpu_counts: Annotated[list[Annotated[int, Field(ge=1, le=64)]], Field(min_length=1)]
    price_micros_per_gpu_hour: Annotated[int, Field(ge=0, le=10**12)]
    currency: Currency = "USD"

    @field_validator("gpu_counts")
    @classmethod
    def each_once(cls, counts: list[int]) -> list[int]:
        if len(set(counts)) != len(counts):
            raise ValueError("each count may be there once")
        return sorted(counts)


class SkuView(View):
    id: str
    name: str
    shape: str
    family: str
    gpu_counts: list[int]
    price_micros_per_gpu_hour: int
    currency: str

    @classmethod
    def of(cls, sku: Sku) -> "SkuView":
        return cls(
            id=sku.id,
            name=sku.name,
            shape=sku.shape,
            family=sku.family,
            gpu_counts=list(sku.gpu_counts),
            price_micros_per_gpu_hour=sku.price_micros_per_gpu_hour,
            currency=sku.currency,
        )


@router.get("")
async def list_skus(actor: Caller, tx: Tx, paging: PageQuery) -> Page[SkuView]:
    """What can be leased."""
    rows = await service.page(tx, actor, paging.after, paging.fetch)
    return paging.page(rows, SkuView.of, lambda sku: sku.id)


@router.post("", status_code=201)
async def create_sku(body: NewSku, actor: Caller, tx: Tx) -> SkuView:
    """Put something new into the catalog."""
    sku = Sku(
        SkuId.new(),
        body.name,
        Shape(body.shape),
        body.family,
        tuple(body.gpu_counts),
        body.price_micros_per_gpu_hour,
        body.currency,
        tx.now,
    )
    return SkuView.of(await service.create(tx, actor, sku))


@router.get("/{id}")
async def get_sku(id: str, actor: Caller, tx: Tx) -> SkuView:
    """One SKU, by id or by name."""
    return SkuView.of(await service.get(tx, actor, id))
