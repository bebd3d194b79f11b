"""A template: what a tenant is given unless its file says otherwise. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.placement.model import Strategy
from penstock_contracts.ids import SiteId, TemplateId


@dataclass(frozen=True)
class Template:
    """One with a site is a compute source's own, and binds tenants to it. None: anything."""

    id: TemplateId
    name: str
    site_id: SiteId | None = None
    revision: int = 0  # counts its changes
    skus: tuple[str, ...] | None = None
    sites: tuple[SiteId, ...] | None = None
    images: tuple[str, ...] | None = None
    families: tuple[str, ...] | None = None
    residency: tuple[str, ...] = ()
    strategy: Strategy = Strategy.PACK
    price_micros_max: int | None = None
    quotas: Mapping[str, int] = field(default_factory=dict[str, int])  # by what is counted
