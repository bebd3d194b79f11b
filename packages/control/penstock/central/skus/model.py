"""A SKU: what can be bought."""

from dataclasses import dataclass
from datetime import datetime

from penstock.placement.model import Shape
from penstock_contracts.ids import SkuId


@dataclass(frozen=True)
class Sku:
    """A shape of one GPU family, in some sizes, at a price."""

    id: SkuId
    name: str
    shape: Shape
    family: str
    gpu_counts: tuple[int, ...]
    price_micros_per_gpu_hour: int
    currency: str
    created_at: datetime
