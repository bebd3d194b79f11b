"""What a batch of leases may still take, at every level, without asking the database again."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.central.quotas import refusals, store
from penstock.central.quotas.model import LEASED, NODES, TOTAL, Kind, Line, Measure, gpus, spend
from penstock.kernel.db import Tx
from penstock.kernel.errors import Problem
from penstock.kernel.questions import Question
from penstock_contracts.ids import OrganizationId, ProjectId, TenantId


@dataclass(frozen=True)
class Demand:
    """What a project wants to hold, and what an hour of it costs."""

    tenant_id: TenantId
    organization_id: OrganizationId
    project_id: ProjectId
    family: str
    gpus: int
    nodes: int = 0  # leased whole
    currency: str = ""
    micros_per_hour: int = 0

    @property
    def scopes(self) -> tuple[str, str, str]:
        """From the smallest to the largest."""
        return self.project_id, self.organization_id, self.tenant_id

    @cached_property
    def amounts(self) -> dict[Measure, int]:
        """How much it counts in each line that counts it at all."""
        every = {
            gpus(self.family): self.gpus,
            TOTAL: self.gpus,
            NODES: self.nodes,
            spend(self.currency): self.micros_per_hour,
        }
        return {measure: amount for measure, amount in every.items() if amount > 0}


@dataclass(frozen=True)
class Share:
    """The lines that a demand must fit into, and how much of each it asks for."""

    demand: Demand
    asked: tuple[tuple[tuple[str, Measure], int], ...]
    foreign: Line | None  # limits money, and not in its currency


class Ledger:
    """The limits around some projects and what is used under them, as of one query.

    Loaded under the fleet's lock it stays true until the lock is given up, if everything
    that the holder gives out is taken here.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines = {(line.scope_id, line.measure): line for line in lines}
        self._shares: dict[int, Share] = {}  # by the demand's identity: many want the same

    @classmethod
    def around(cls, tx: Tx, scopes: Collection[str]) -> Question[list[Line]]:
        """What it is made of."""
        return store.limited(tx, sorted(scopes), LEASED)

    def refuse(self, demand: Demand) -> Problem | None:
        """Why it does not fit: the line with the least room. None: it fits into all."""
        share = self._share(demand)
        if share.foreign is not None:
            return refusals.other_currency(share.foreign, demand.currency)
        full = [
            (self._lines[key], asked) for key, asked in share.asked if asked > self._lines[key].room
        ]
        if not full:
            return None
        tightest, asked = min(full, key=lambda each: (_place(each[0]), each[0].room))
        return refusals.exceeded(tightest, asked)

    def never(self, demand: Demand) -> bool:
        """Whether it would not fit even if nothing else were held."""
        share = self._share(demand)
        return share.foreign is not None or any(
            asked > (self._lines[key].limit or 0) for key, asked in share.asked
        )

    def take(self, demand: Demand) -> None:
        """It is given: whoever comes later in the batch has that much less."""
        for key, asked in self._share(demand).asked:
            line = self._lines[key]
            if line.measure.kind is Kind.SPEND:
                self._lines[key] = replace(line, due=line.due + asked)
            else:
                self._lines[key] = replace(line, used=line.used + asked)

    def _share(self, demand: Demand) -> Share:
        known = self._shares.get(id(demand))
        if known is None or known.demand is not demand:
            known = self._shares[id(demand)] = Share(
                demand,
                tuple(
                    ((scope, measure), amount)
                    for scope in demand.scopes
                    for measure, amount in demand.amounts.items()
                    if (scope, measure) in self._lines
                ),
                self._foreign(demand),
            )
        return known

    def _foreign(self, demand: Demand) -> Line | None:
        if demand.micros_per_hour == 0:
            return None
        own = spend(demand.currency)
        return next(
            (
                line
                for (scope, measure), line in self._lines.items()
                if measure.kind is Kind.SPEND
                and scope in demand.scopes
                and (scope, own) not in self._lines
            ),
            None,
        )


def _place(line: Line) -> int:
    return LEASED.index(line.measure.kind)
