"""What fits now, and what moves would open."""

from typing import TypedDict

from penstock_client.views.catalog import Shape


class Size(TypedDict):
    gpus: int
    now: int
    after_defragmentation: int


class Availability(TypedDict):
    """What of a SKU could be leased at a site, if only that size were asked for."""

    sku: str
    sku_id: str
    shape: Shape
    family: str
    site: str
    site_name: str
    price_micros_per_gpu_hour: int
    currency: str
    sizes: list[Size]


class Move(TypedDict):
    allocation: str
    tenant: str
    gpus: int
    from_node: str
    from_name: str
    from_slots: list[str]
    to_node: str
    to_name: str
    to_slots: list[str]
    opens: str
    cost_gpu_minutes: int


class Gain(TypedDict):
    shape: Shape
    gpus: int
    before: int
    after: int


class DefragmentationPlan(TypedDict):
    """Moves that would open more of `shape` and `gpus`. Nothing carries it out."""

    family: str
    site: str
    site_name: str
    shape: Shape
    gpus: int
    opened: int
    cost_gpu_minutes: int
    disruption_gpu_minutes: int
    moves: list[Move]
    gains: list[Gain]
