"""Where a tenant's leases may go."""

from typing import Literal, TypedDict

Strategy = Literal["pack", "spread"]


class Placement(TypedDict):
    """Where a tenant's leases may go. Null: anywhere, of any family, at any price."""

    tenant: str
    revision: int  # counts its changes
    sites: list[str] | None
    families: list[str] | None
    skus: list[str] | None
    images: list[str] | None
    residency: list[str]
    strategy: Strategy
    price_micros_max: int | None
    weight: int
