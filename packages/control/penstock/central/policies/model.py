"""What a tenant may lease and where. Policy is the tenant's, terms are one request's. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

from penstock.placement.model import Request, Strategy
from penstock_contracts.ids import SiteId, TenantId


@dataclass(frozen=True)
class Policy:
    """None means that anything is allowed."""

    tenant_id: TenantId
    revision: int = 0  # counts its changes; 0 if none was ever made
    sites: tuple[SiteId, ...] | None = None
    families: tuple[str, ...] | None = None
    skus: tuple[str, ...] | None = None  # by name
    images: tuple[str, ...] | None = None  # by name; nothing starts images yet
    residency: tuple[str, ...] = ()  # tags that a node must have, all of them
    strategy: Strategy = Strategy.PACK  # of requests that choose none
    price_micros_max: int | None = None  # what a node's source may ask per GPU and hour
    weight: int = 1  # its share, beside other tenants, of what those who wait are given

    def allows(self, sku: str) -> bool:
        return self.skus is None or sku in self.skus


@dataclass(frozen=True)
class Terms:
    """What a request asks for on top of its tenant's policy."""

    strategy: Strategy | None = None
    residency: tuple[str, ...] = ()
    price_micros_max: int | None = None
    apart_from: tuple[str, ...] = ()  # leases; it must not share a node with any of them

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> Self:
        """As a lease that waits keeps them; what is not there is as if nothing was asked."""
        strategy = kept.get("strategy")
        return cls(
            Strategy(strategy) if strategy else None,
            tuple(kept.get("residency", ())),
            kept.get("price_micros_max"),
            tuple(kept.get("apart_from", ())),
        )


@lru_cache(maxsize=4096)
def lay_over(
    request: Request, policy: Policy, terms: Terms, apart_from: tuple[str, ...]
) -> Request:
    """The request under both: whichever is stricter holds. `apart_from` are nodes."""
    ceilings = [c for c in (policy.price_micros_max, terms.price_micros_max) if c is not None]
    return replace(
        request,
        tenant=policy.tenant_id,
        sites=policy.sites,
        families_allowed=policy.families,
        residency=tuple(sorted({*policy.residency, *terms.residency})),
        price_micros_max=min(ceilings, default=None),
        apart_from=tuple(sorted(set(apart_from))),
        strategy=terms.strategy or policy.strategy,
    )
