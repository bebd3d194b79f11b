"""How much of a SKU fits at a site. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.central.skus.model import Sku
from penstock.placement.defragmentation.moves import MovePlan
from penstock.placement.explaining import availability
from penstock.placement.kinds import cohorts
from penstock.placement.model import Fleet, Request
from penstock.placement.requests import Overlay
from penstock_contracts.ids import SkuId


@dataclass(frozen=True)
class Size:
    gpus: int
    now: int
    after_defragmentation: int


@dataclass(frozen=True)
class Stock:
    sku: Sku
    site_id: str
    sizes: tuple[Size, ...]


@dataclass(frozen=True)
class Viewer:
    """Who looks: a tenant under its policy, or (no overlay) the platform, which sees all."""

    overlay: Overlay | None
    kept: tuple[str, ...] = ()  # nodes kept for those who wait: nobody who asks now gets them

    def request(self, sku: Sku, gpus: int) -> Request:
        asked = Request(sku.family, sku.shape, gpus)
        if self.overlay is not None:
            asked = replace(asked, **vars(self.overlay))
        return replace(asked, kept=self.kept)

    def count(self, sku: Sku, gpus: int, fleet: Fleet) -> dict[str, int]:
        """By site: how many of this size fit now."""
        count = availability.count_all if self.overlay is None else availability.count
        return count(self.request(sku, gpus), fleet)

    def gained(self, sku: Sku, gpus: int, plan: MovePlan) -> int:
        """How much of what the plan opens is open to this viewer."""
        if self.overlay is None:
            return plan.opened_total
        request = self.request(sku, gpus)
        opened = plan.opened.items()
        return sum(more for traits, more in opened if cohorts.failed(request, traits) is None)


# By SKU id and size: by site, how many fit.
Counts = Mapping[tuple[SkuId, int], Mapping[str, int]]
