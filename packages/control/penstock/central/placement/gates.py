"""Whether a tenant may hold more: its quotas at every level, then its balance."""

from collections.abc import Collection, Sequence
from typing import Any

from penstock.central.balances.gate import Gate
from penstock.central.placement.wants import Want
from penstock.central.projects.model import Project
from penstock.central.quotas.ledger import Ledger
from penstock.kernel.db import Tx
from penstock.kernel.errors import Problem
from penstock.kernel.questions import Question, ask_all


class Gates:
    """Loaded once for a batch, under the fleet's lock; what is placed must be taken."""

    def __init__(self, ledger: Ledger, gate: Gate) -> None:
        self._ledger = ledger
        self._gate = gate

    def never(self, want: Want) -> bool:
        """Whether it alone is more than may be held, or nothing that the tenant has can pay it."""
        return self._ledger.never(want.demand) or self._gate.never(want.rate)

    @classmethod
    async def load(
        cls, tx: Tx, projects: Collection[Project], besides: Sequence[Question[Any]] = ()
    ) -> "Gates":
        """For what is wanted in these projects. Other questions may be asked `besides`."""
        scopes = {id for p in projects for id in (p.id, p.organization_id, p.tenant_id)}
        lines = Ledger.around(tx, scopes)
        balances = Gate.of_tenants(tx, {p.tenant_id for p in projects})
        await ask_all(tx, [lines, balances, *besides])
        return cls(Ledger(lines.answer), Gate(balances.answer))

    def refuse(self, want: Want) -> Problem | None:
        return self._ledger.refuse(want.demand) or self._gate.refuse(want.rate)

    def take(self, want: Want) -> None:
        self._ledger.take(want.demand)
        self._gate.take(want.rate)
