"""What can be leased."""

from typing import Literal, TypedDict

Shape = Literal["baremetal", "gpu_slice"]


class Sku(TypedDict):
    id: str
    name: str
    shape: Shape
    family: str
    gpu_counts: list[int]
    price_micros_per_gpu_hour: int
    currency: str
