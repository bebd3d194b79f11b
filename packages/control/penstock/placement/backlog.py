"""The backlog's policy: who of those that wait is placed now, and what is kept for whom.

Requests have their turn in order (`turns.order`). One that fits is placed. The first of each
family that does not fit is that family's head: the nodes where it will fit soonest are kept for
it (`reservations.reserve`), and whoever has a turn after it is placed outside of them, which is
backfill.

How backfill never delays a head, although leases have no end in general: a kept node is closed
to everybody behind the head, so what comes free there stays free until the head fits. The one
exception is a request that will certainly be ended (`ends_by`) before the kept nodes are known
to be free. A head keeps its turn and its nodes from round to round (`Waiting.kept`), until it is
placed, there or wherever it fits sooner. So it waits at most for the leases that stood on its
nodes when they were chosen, whatever is placed behind it. Only one of higher priority goes before
it; and if a kept node is drained or lost, others are kept instead.

One whose tenant has no quota left, or that can never fit, is nobody's head and blocks no one.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from penstock.placement import reservations, solver, turns
from penstock.placement.fleet import Fleet
from penstock.placement.plans import Plan, Refusal
from penstock.placement.requests import Request
from penstock.placement.waiting import (
    Holdings,
    Lease,
    Limits,
    Placement,
    Reservation,
    Round,
    Staying,
    Unlimited,
    Waiting,
    Why,
)

HEADS_MAX: Final = 1  # of a family


def decide(
    waiting: Sequence[Waiting],
    fleet: Fleet,
    holdings: Holdings,
    *,
    now: datetime,
    leases: tuple[Lease, ...] = (),
    limits: Limits | None = None,
) -> Round:
    """One round. What is placed is taken of the fleet, the limits, and added to the holdings.

    `leases` are those whose end is known; the others need not be given.
    """
    deciding = _Deciding(fleet, holdings, limits or Unlimited(), leases, now)
    for each in turns.order(waiting, holdings):
        deciding.consider(each)
    return Round(tuple(deciding.placed), tuple(deciding.staying))


class _Deciding:
    def __init__(
        self,
        fleet: Fleet,
        holdings: Holdings,
        limits: Limits,
        leases: tuple[Lease, ...],
        now: datetime,
    ) -> None:
        self.placed: list[Placement] = []
        self.staying: list[Staying] = []
        self._fleet = fleet
        self._holdings = holdings
        self._limits = limits
        self._leases = leases
        self._now = now
        self._kept: dict[str, list[Reservation]] = {}  # by family
        self._fitting: dict[Request, bool] = {}  # until something is taken
        self._outsides: dict[Request, Request] = {}  # until more is kept
        # Within a round room only shrinks: what was refused once stays refused.
        self._refused: dict[Request, Refusal] = {}

    def consider(self, waiting: Waiting) -> None:
        if not self._limits.permit(waiting):
            self.staying.append(Staying(waiting, Why.QUOTA))
            return
        request = self._outside(waiting.request)
        answer = self._solve(request)
        if isinstance(answer, Refusal) and self._ends_before(waiting):
            request = waiting.request
            answer = self._solve(request)
        if isinstance(answer, Plan):
            self._place(Placement(waiting, request, answer))
        else:
            self.staying.append(self._stay(waiting, answer))

    def _outside(self, request: Request) -> Request:
        """The same, but apart from what is kept for those before it."""
        kept = self._kept.get(request.family)
        if not kept:
            return request
        outside = self._outsides.get(request)
        if outside is None:
            nodes = (node for each in kept for node in each.nodes)
            outside = replace(request, apart_from=(*request.apart_from, *nodes))
            self._outsides[request] = outside
        return outside

    def _ends_before(self, waiting: Waiting) -> bool:
        """Whether it will be gone before any head could want what is kept for it."""
        kept = self._kept.get(waiting.request.family)
        by = waiting.ends_by
        if not kept or by is None:
            return False
        return all(each.at is not None and by <= each.at for each in kept)

    def _solve(self, request: Request) -> Plan | Refusal:
        known = self._refused.get(request)
        if known is not None:
            return known
        answer = solver.solve(request, self._fleet)
        if isinstance(answer, Refusal):
            self._refused[request] = answer
        return answer

    def _place(self, placement: Placement) -> None:
        self._fleet.take(placement.plan)
        self._fitting.clear()
        self._holdings.add(placement.waiting.tenant, placement.waiting.gpus)
        self._limits.take(placement.waiting)
        lease = placement.waiting.lease(placement.plan)
        if lease.ends_at is not None:
            self._leases = (*self._leases, lease)
        self.placed.append(placement)

    def _stay(self, waiting: Waiting, refusal: Refusal) -> Staying:
        if refusal.never:
            return Staying(waiting, Why.NEVER, refusal)
        kept = self._keep(waiting) if waiting.stays else None
        why = Why.TURN if self._fits(waiting.request) else Why.ROOM
        return Staying(waiting, why, refusal, kept)

    def _fits(self, request: Request) -> bool:
        """Whether it would fit if nothing were kept."""
        if request not in self._fitting:
            self._fitting[request] = isinstance(self._solve(request), Plan)
        return self._fitting[request]

    def _keep(self, waiting: Waiting) -> Reservation | None:
        family = self._kept.setdefault(waiting.request.family, [])
        if len(family) >= HEADS_MAX:
            return None
        request = self._outside(waiting.request)
        kept = reservations.reserve(request, self._fleet, self._leases, self._now, waiting.kept)
        if kept is not None:
            family.append(kept)
            self._outsides.clear()
        return kept
