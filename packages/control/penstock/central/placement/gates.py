"""Whether a tenant may hold more: its quotas at every level, then its balance."""

from collections.abc import Collection

from penstock.central.balances.gate import Gate
from penstock.central.placement.wants import Want
from penstock.central.projects.model import Project
from penstock.central.quotas.ledger import Ledger
from penstock.kernel.db import Tx
from penstock.kernel.errors import Problem


class Gates:
    """Loaded once for a batch, under the fleet's lock; what is placed must be taken."""

    def __init__(self, ledger: Ledger, gate: Gate) -> None:
        self._ledger = ledger
        self._gate = gate

    def never(self, want: Want) -> bool:
        """Whether it alone is more than may be held, or nothing that the tenant has can pay it."""
        return self._ledger.never(want.demand) or self._gate.never(want.rate)

    @classmethod
    async def load(cls, tx: Tx, projects: Collection[Project]) -> "Gates":
        """For what is wanted in these projects."""
        scopes = {id for p in projects for id in (p.id, p.organization_id, p.tenant_id)}
        ledger = await Ledger.load(tx, scopes)
        return cls(ledger, await Gate.load(tx, {p.tenant_id for p in projects}))

    def refuse(self, want: Want) -> Problem | None:
        return self._ledger.refuse(want.demand) or self._gate.refuse(want.rate)

    def take(self, want: Want) -> None:
        self._ledger.take(want.demand)
        self._gate.take(want.rate)
