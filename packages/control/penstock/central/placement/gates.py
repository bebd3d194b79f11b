"""Whether a tenant may hold more: its quotas at every level, then its balance."""

from collections.abc import Sequence
from functools import lru_cache

from penstock.central.balances.gate import Gate, Rate
from penstock.central.placement.wants import Want
from penstock.central.projects.model import Project
from penstock.central.quotas.ledger import Demand, Ledger
from penstock.kernel.db import Tx
from penstock.kernel.errors import Problem


class Gates:
    """Loaded once for a batch, under the fleet's lock; what is placed must be taken."""

    def __init__(self, ledger: Ledger, gate: Gate) -> None:
        self._ledger = ledger
        self._gate = gate

    def never(self, want: Want) -> bool:
        """Whether it alone is more than may be held."""
        return self._ledger.never(demand(want))

    @classmethod
    async def load(cls, tx: Tx, wanted: Sequence[Want]) -> "Gates":
        ledger = await Ledger.load(tx, [demand(want) for want in wanted])
        return cls(ledger, await Gate.load(tx, [rate(want) for want in wanted]))

    def refuse(self, want: Want) -> Problem | None:
        return self._ledger.refuse(demand(want)) or self._gate.refuse(rate(want))

    def take(self, want: Want) -> None:
        self._ledger.take(demand(want))
        self._gate.take(rate(want))


def demand(want: Want) -> Demand:
    return _demand(want.project, want.sku.family, want.request.gpus)


@lru_cache(maxsize=4096)
def _demand(project: Project, family: str, gpus: int) -> Demand:
    return Demand(project.tenant_id, project.organization_id, project.id, family, gpus)


def rate(want: Want) -> Rate:
    price = want.request.gpus * want.sku.price_micros_per_gpu_hour
    return Rate(want.project.tenant_id, want.sku.currency, price)
