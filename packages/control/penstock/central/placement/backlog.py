"""A round: those who wait and those who ask now, decided together under the fleet's lock.

Asking now is no way around the line: both have their turn by the same policy
(`penstock.placement.line.backlog`), and nobody is placed on nodes kept for those before them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from prometheus_client import Gauge

from penstock.central.allocations import waiting as held
from penstock.central.allocations.model import Allocation
from penstock.central.placement import line, outlooks
from penstock.central.placement.answers import Unplaced
from penstock.central.placement.gates import Gates
from penstock.central.placement.wants import Want
from penstock.central.quotas import service as quotas
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, PaymentRequired, Problem
from penstock.placement.line import backlog
from penstock.placement.line.waiting import Holdings, Placement, Round, Staying, Waiting, Why
from penstock.placement.model import Fleet, Plan

QUEUED_MAX: Final = 500  # of one tenant
WAITING: Final = Gauge("penstock_backlog_waiting", "Leases that wait for room, by the last round")
Wants = Mapping[str, Want]  # by the id of their ask, which is that of their lease


@dataclass
class Decided:
    """`placed` is for the caller to write; all else is written. `refused` is by ask."""

    placed: list[tuple[Want, Plan]]
    queued: list[Allocation] = field(default_factory=list[Allocation])
    refused: dict[str, Problem | Unplaced] = field(default_factory=dict[str, Problem | Unplaced])


async def decide(
    tx: Tx, fleet: Fleet, gates: Gates, asked: Sequence[Want], waited: Sequence[Want]
) -> Decided:
    """Who is placed now; whoever asks now, does not fit and may wait, begins to.

    Estimates are brought up to date when the line changed, and when nobody asked: then the
    round was called because there may be room.
    """
    known: Wants = {want.ask.id: want for want in (*waited, *asked)}
    ending = await held.ending(tx) if waited or any(want.ask.queue for want in asked) else []
    limits = _Limits(gates, known)
    owners = [want.project.tenant_id for want in known.values()]
    weights: dict[str, float] = {w.policy.tenant_id: w.policy.weight for w in known.values()}
    holdings = Holdings(await quotas.held(tx, owners), weights)
    decided = backlog.decide(
        _in_line(tx, asked, waited, gates),
        fleet,
        holdings,
        now=tx.now,
        leases=tuple(ending),
        limits=limits,
    )
    answer = Decided([_placed(known[p.waiting.id], p) for p in decided.placed])
    kept = [(each.waiting.priority, each.kept.nodes) for each in decided.staying if each.kept]
    staying: list[Staying] = []
    for each in decided.staying:
        want = known[each.waiting.id]
        if want.waited or (each.waiting.stays and each.why is not Why.NEVER):
            staying.append(each)
        else:
            answer.refused[want.ask.id] = _refusal(want, each, limits, kept)
    answer.queued = await line.begin(tx, [known[s.waiting.id] for s in staying])
    WAITING.set(len(staying))
    if staying and (not asked or answer.queued or _moved(decided, known)):
        outlook = outlooks.Outlook(tuple(staying), decided.placed, fleet, holdings, ending)
        told = await outlooks.tell(tx, outlook, known)
        answer.queued = [_with_estimate(a, told) for a in answer.queued]
    line.announce(tx, answer.queued, known)
    return answer


class _Limits:
    """Quota and balance, as the policy asks for them; `why` has what they refused."""

    def __init__(self, gates: Gates, known: Wants) -> None:
        self.why: dict[str, Problem] = {}
        self._gates = gates
        self._known = known

    def lacks(self, waiting: Waiting) -> Why | None:
        refusal = self._gates.refuse(self._known[waiting.id])
        if refusal is None:
            return None
        self.why[waiting.id] = refusal
        return Why.BALANCE if isinstance(refusal, PaymentRequired) else Why.QUOTA

    def take(self, waiting: Waiting) -> None:
        self._gates.take(self._known[waiting.id])


def _in_line(tx: Tx, asked: Sequence[Want], waited: Sequence[Want], gates: Gates) -> list[Waiting]:
    lengths = Counter(want.project.tenant_id for want in waited)
    found = [_waiting(tx, want, stays=True) for want in waited]
    for want in asked:
        tenant = want.project.tenant_id
        stays = want.ask.queue and lengths[tenant] < QUEUED_MAX and not gates.never(want)
        lengths[tenant] += stays
        found.append(_waiting(tx, want, stays=stays))
    return found


def _waiting(tx: Tx, want: Want, *, stays: bool) -> Waiting:
    """No end is certain (`ends_by`): release begins at `ends_at`, but only a proof of cleanup,
    for which nobody can vouch, makes room."""
    wait = want.waited.wait if want.waited else None
    return Waiting(
        id=want.ask.id,
        tenant=want.project.tenant_id,
        priority=want.ask.priority,
        queued_at=(wait.queued_at if wait else None) or tx.now,
        request=want.request,
        stays=stays,
        kept=wait.kept_nodes if wait else (),
        ends_at=want.ask.ends_at,
        apart=want.ask.terms.apart_from,
    )


def _placed(want: Want, placement: Placement) -> tuple[Want, Plan]:
    """The request is the one that was solved, so that its receipt can be replayed."""
    return replace(want, request=placement.request), placement.plan


def _refusal(
    want: Want, staying: Staying, limits: _Limits, kept: Sequence[tuple[int, tuple[str, ...]]]
) -> Problem | Unplaced:
    """Explained as if it were asked again: outside of what is kept for those before it then."""
    if staying.refusal is None:
        return limits.why[want.ask.id]
    if want.ask.queue and not staying.refusal.never and not staying.waiting.stays:
        return Conflict(
            f"{QUEUED_MAX} leases of the tenant wait already; no more can",
            code="queue_full",
            suggestion="cancel one that waits, or ask again later",
        )
    before = (nodes for priority, nodes in kept if priority >= want.ask.priority)
    closed = tuple(node for nodes in before for node in nodes)
    request = replace(staying.waiting.request, kept=closed)
    want = replace(want, request=request)
    return Unplaced(want, staying.refusal, kept=staying.why is Why.TURN)


def _moved(decided: Round, known: Wants) -> bool:
    """Whether someone left the line, or nodes are kept for someone else than before."""
    if any(known[placed.waiting.id].waited for placed in decided.placed):
        return True
    return any(
        (each.kept.nodes if each.kept else ()) != each.waiting.kept
        for each in decided.staying
        if known[each.waiting.id].waited
    )


def _with_estimate(allocation: Allocation, told: outlooks.Told) -> Allocation:
    estimate, kept = told[allocation.id]
    return replace(allocation, wait=replace(allocation.wait, estimate=estimate, kept_nodes=kept))
