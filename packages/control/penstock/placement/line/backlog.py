"""The backlog's policy: who of those that wait is placed now, and what is kept for whom.

Requests have their turn in order (`turns.order`). One that fits is placed. One that does not may
become a head (`heads`): the nodes where it will fit soonest are kept for it
(`reservations.reserve`), and whoever has a turn after it is placed outside of them, which is
backfill.

How backfill never delays a head, although leases have no end in general: a kept node is closed
to everybody behind the head, so what comes free there stays free until the head fits. The one
exception is a request that will certainly be ended (`ends_by`) before the kept nodes are known
to be free. A head keeps its turn and its nodes from round to round (`Waiting.kept`), until it is
placed, there or wherever it fits sooner. So it waits at most for the leases that stood on its
nodes when they were chosen, whatever is placed behind it. Only one of higher priority goes before
it; and if a kept node is drained or lost, others are kept instead.

One whose tenant may not hold or cannot pay for more, or that can never fit, is nobody's head and
blocks no one. Leases that must stay apart do, whichever of them is placed first.
"""

from collections.abc import Sequence
from datetime import datetime

from penstock.placement import solver
from penstock.placement.fleet import Fleet
from penstock.placement.line import turns
from penstock.placement.line.heads import Heads, outside
from penstock.placement.line.partings import Partings
from penstock.placement.line.waiting import (
    Holdings,
    Lease,
    Limits,
    Placement,
    Round,
    Staying,
    Unlimited,
    Waiting,
    Why,
)
from penstock.placement.plans import Plan, Refusal
from penstock.placement.requests import Request


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
    deciding = _Deciding(waiting, fleet, holdings, limits or Unlimited(), leases, now)
    for each in turns.order(waiting, holdings):
        deciding.consider(each)
    return Round(tuple(deciding.placed), tuple(deciding.staying))


class _Deciding:
    def __init__(
        self,
        waiting: Sequence[Waiting],
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
        self._heads = Heads(fleet, waiting)
        self._partings = Partings(waiting)
        self._fitting: dict[Request, bool] = {}  # until something is taken
        # Within a round room only shrinks, and more is kept: what was refused once stays refused.
        self._refused: dict[Request, Refusal] = {}
        self._refused_outside: dict[Request, Refusal] = {}

    def consider(self, waiting: Waiting) -> None:
        closed = self._heads.turn(waiting)
        lacks = self._limits.lacks(waiting)
        if lacks is not None:
            self.staying.append(Staying(waiting, lacks))
            return
        waiting = self._partings.now(waiting)
        decided = self._outside(waiting, closed)
        if isinstance(decided, Refusal) and self._ends_before(waiting):
            answer = self._solve(waiting.request)
            if isinstance(answer, Plan):
                decided = Placement(waiting, waiting.request, answer)
        if isinstance(decided, Placement):
            self._place(decided)
        else:
            self.staying.append(self._stay(waiting, closed, decided))

    def _outside(self, waiting: Waiting, closed: tuple[str, ...]) -> Placement | Refusal:
        """Outside of what is kept for others. What that is differs only from head to head."""
        known = None if waiting.kept else self._refused_outside.get(waiting.request)
        if known is not None:
            return known
        request = outside(waiting.request, closed)
        answer = solver.solve(request, self._fleet)
        if isinstance(answer, Plan):
            return Placement(waiting, request, answer)
        if not waiting.kept:
            self._refused_outside[waiting.request] = answer
        return answer

    def _ends_before(self, waiting: Waiting) -> bool:
        """Whether it will be gone before any head could want what is kept for it."""
        by = waiting.ends_by
        if by is None:
            return False
        kept = self._heads.met(waiting.request)
        return bool(kept) and all(each.at is not None and by <= each.at for each in kept)

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
        self._partings.placed(placement)
        self._holdings.add(placement.waiting.tenant, placement.waiting.gpus)
        self._limits.take(placement.waiting)
        lease = placement.waiting.lease(placement.plan)
        if lease.ends_at is not None:
            self._leases = (*self._leases, lease)
        self.placed.append(placement)

    def _stay(self, waiting: Waiting, closed: tuple[str, ...], refusal: Refusal) -> Staying:
        if refusal.never:
            return Staying(waiting, Why.NEVER, refusal)
        kept = None
        if waiting.stays:
            kept = self._heads.keep(waiting, closed, self._leases, self._now)
        why = Why.TURN if self._fits(waiting.request) else Why.ROOM
        return Staying(waiting, why, refusal, kept)

    def _fits(self, request: Request) -> bool:
        """Whether it would fit if nothing were kept."""
        if request not in self._fitting:
            self._fitting[request] = isinstance(self._solve(request), Plan)
        return self._fitting[request]
