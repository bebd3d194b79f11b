"""What those who were refused could ask for instead: their policy, the catalog and their quotas."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from penstock.central.placement import reach
from penstock.central.placement.gates import Gates
from penstock.central.placement.wants import Want
from penstock.central.skus import service as skus
from penstock.central.skus.model import Sku
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Tx
from penstock.placement.model import Alternative, Leeway


@dataclass(frozen=True)
class Leeways:
    catalog: list[Sku]
    gates: Gates

    @classmethod
    async def load(cls, tx: Tx, refused: Iterable[Want]) -> "Leeways":
        projects = {want.project.id: want.project for want in refused}
        return cls(await skus.every(tx, SYSTEM), await Gates.load(tx, list(projects.values())))

    def of(self, want: Want) -> Leeway:
        """Only the platform is told of what the tenant may not use."""
        return Leeway(
            counts=want.sku.gpu_counts,
            alternatives=self._alternatives(want),
            policy=reach.under(want.policy),
            sees_all=want.ask.actor.tenant_id is None,
        )

    def _alternatives(self, want: Want) -> tuple[Alternative, ...]:
        """The same of other families, the nearest price first."""
        paid = want.sku.price_micros_per_gpu_hour
        found = [sku for sku in self.catalog if _serves(sku, want) and self._affords(want, sku)]
        found.sort(key=lambda sku: (abs(sku.price_micros_per_gpu_hour - paid), sku.name))
        return tuple(Alternative(sku.name, sku.family) for sku in found)

    def _affords(self, want: Want, sku: Sku) -> bool:
        """Whether quotas and balance have room for it."""
        hourly = want.demand.gpus * sku.price_micros_per_gpu_hour
        demand = replace(
            want.demand, family=sku.family, currency=sku.currency, micros_per_hour=hourly
        )
        rate = replace(want.rate, currency=sku.currency, micros_per_hour=hourly)
        return self.gates.refuse(replace(want, demand=demand, rate=rate)) is None


def _serves(sku: Sku, want: Want) -> bool:
    families, request = want.policy.families, want.request
    return (
        sku.family != request.family
        and sku.shape is request.shape
        and request.gpus in sku.gpu_counts
        and want.policy.allows(sku.name)
        and (families is None or sku.family in families)
    )
