"""The search for the best node of one family for a share, among some of its cohorts."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from penstock.placement.divisible.costs import Known
from penstock.placement.divisible.workloads import Amounts, Floats, Ints, amounts
from penstock.placement.index.families import Family
from penstock.placement.index.groups import Group
from penstock.placement.kinds.cohorts import Cohort
from penstock.placement.requests import Share, Strategy

CANDIDATES_MAX: Final = 5
SAME: Final = 1e-6  # costs that differ by less are the same


class Fit(NamedTuple):
    """The order of its fields is the order in which fits are preferred."""

    tier: int  # 0 if the node is reserved for the tenant
    cost: float
    leftover: float
    price_micros_per_gpu_hour: int
    node_id: str
    pick: int  # what is free of the GPU that will be shared
    alike: int


@dataclass(frozen=True)
class Search:
    share: Share
    family: Family
    allowed: frozenset[Cohort]
    avoided: frozenset[str]
    tier: int
    scarcity: float

    @cached_property
    def what(self) -> Amounts:
        return amounts(self.share)

    @cached_property
    def known(self) -> Known:
        return self.family.costs.of(self.what, self.family.board)

    @cached_property
    def here(self) -> Ints:
        """By row of the board: how many nodes in that state may be used."""
        board, live = self.family.board, self.family.divided.live
        if not self.avoided and len(self.allowed) == len(self.family.cohorts):
            return board.nodes
        here = np.zeros(len(board), np.int64)
        for state, groups in live.items():
            here[board.row(state)] = sum(self._size(g) for c, g in groups.items() if self._sees(c))
        return here

    @cached_property
    def fitting(self) -> Ints:
        return np.flatnonzero((self.here > 0) & np.isfinite(self.known.cost))

    def best(self) -> list[Fit]:
        """The nodes of the best state; of equal states, the nodes of each."""
        if not len(self.fitting):
            return []
        cost, leftover = self._rates()
        least = np.flatnonzero(cost <= cost.min() + SAME)
        tightest = least[leftover[least] <= leftover[least].min() + SAME]
        found: list[Fit] = []
        for nth in tightest.tolist():
            found += self._fits(int(self.fitting[nth]), float(cost[nth]), float(leftover[nth]))
        return sorted(found)[:CANDIDATES_MAX]

    def _rates(self) -> tuple[Floats, Floats]:
        leftover = self.family.costs.leftover(self.what, self.family.board, self.fitting)
        if self.share.strategy is Strategy.SPREAD:
            return np.zeros(len(leftover)), -leftover
        cost = self.known.cost[self.fitting] + self.scarcity * self.share.milli_total
        # Rounded, so that a sum in another order decides the same.
        return np.round(cost, 6), np.round(leftover, 6)

    def _fits(self, row: int, cost: float, leftover: float) -> list[Fit]:
        groups = self.family.divided.live[self.family.board.states[row]]
        pick = int(self.known.pick[row])
        return [
            Fit(self.tier, cost, leftover, cohort.traits.price_micros_per_gpu_hour, id, pick,
                self._size(group))
            for cohort, group in groups.items()
            if self._sees(cohort) and (id := group.first(self.avoided)) is not None
        ]  # fmt: skip

    def _sees(self, cohort: Cohort) -> bool:
        return cohort in self.allowed

    def _size(self, group: Group) -> int:
        return len(group) - sum(id in group for id in self.avoided)
