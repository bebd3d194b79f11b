"""When those that wait will be placed, and what they wait for. Found by solving, not guessed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import Final

from penstock.placement import solver
from penstock.placement.fleet import Fleet
from penstock.placement.line import backlog, reservations
from penstock.placement.line.partings import Partings
from penstock.placement.line.suppositions import suppose
from penstock.placement.line.waiting import Holdings, Lease, Staying, Waiting, Why, ends
from penstock.placement.plans import Plan
from penstock.placement.requests import Request

INSTANTS_MAX: Final = 32
FORESEEN_MAX: Final = 32  # of those that wait; whoever is further back has no time yet
TRIES_MAX: Final = 32
NEAR_MAX: Final = 8
_FAR: Final = datetime.max.replace(tzinfo=UTC)


class WaitsFor(StrEnum):
    LEASES = "leases"  # the end of the leases that are named
    TURN = "turn"  # those before it
    QUOTA = "quota"  # its tenant holds as much as it may
    BALANCE = "balance"  # its tenant has not the money for it
    CAPACITY = "capacity"  # a node to be approved, undrained or connected: no end is enough


_WHAT: Final = {
    Why.TURN: WaitsFor.TURN, Why.QUOTA: WaitsFor.QUOTA, Why.BALANCE: WaitsFor.BALANCE,
    Why.NEVER: WaitsFor.CAPACITY,
}  # fmt: skip


@dataclass(frozen=True)
class Estimate:
    """`position` counts those of its family; `at` is None if nobody knows."""

    id: str
    position: int
    at: datetime | None
    waits_for: WaitsFor
    leases: tuple[Lease, ...] = ()


def near_nodes(requests: Iterable[Request], fleet: Fleet) -> list[str]:
    """The nodes whose leases `waiting_for` should be given."""
    return sorted(
        {
            each.node_id
            for request in set(requests)
            for each in reservations.near(request, fleet, max(NEAR_MAX, 2 * request.nodes))
        }
    )


def waiting_for(request: Request, fleet: Fleet, leases: Iterable[Lease]) -> tuple[Lease, ...]:
    """The leases whose end would let the request fit; none if no end would.

    One that is enough by itself, if there is one, the soonest to end first; else all that
    stand in the way on one node; else the fewest that were found of all.
    """
    near = set(near_nodes([request], fleet))
    given = sorted(leases, key=_soonest)
    close = [each for each in given if any(part.node_id in near for part in each.parts)]
    known = [each for each in given if each.ends_at is not None]
    singles = ((lease,) for lease in dict.fromkeys((*known[:TRIES_MAX], *close[:TRIES_MAX])))
    for together in (*singles, *_by_node(close), tuple(close), tuple(known)):
        if together and _fits(request, fleet, together):
            return _needed(request, fleet, together)
    return ()


def estimate(
    staying: Sequence[Staying],
    fleet: Fleet,
    holdings: Holdings,
    leases: Sequence[Lease],
    now: datetime,
) -> list[Estimate]:
    """Of those that stay after a round, in its order. Whoever is far back waits for its turn."""
    times = _forecast(staying, fleet, holdings.copy(), tuple(leases), now)
    waited = {each: waiting_for(each, fleet, leases) for each in foremost(staying)}
    positions: dict[str, int] = {}
    found: list[Estimate] = []
    for each in staying:
        id, request = each.waiting.id, each.waiting.request
        position = positions[request.family] = positions.get(request.family, 0) + 1
        why = each.why if request in waited or each.why is not Why.ROOM else Why.TURN
        named = waited[request] if why is Why.ROOM else ()
        found.append(Estimate(id, position, times.get(id), _what(why, named), named))
    return found


def foremost(staying: Sequence[Staying]) -> list[Request]:
    """What the first in line want for whom there is no room: each once, no more than matter."""
    wanted = dict.fromkeys(each.waiting.request for each in staying if each.why is Why.ROOM)
    return list(islice(wanted, FORESEEN_MAX))


def _what(why: Why, named: tuple[Lease, ...]) -> WaitsFor:
    if why is Why.ROOM:
        return WaitsFor.LEASES if named else WaitsFor.CAPACITY
    return _WHAT[why]


def _forecast(
    staying: Sequence[Staying],
    fleet: Fleet,
    holdings: Holdings,
    leases: tuple[Lease, ...],
    now: datetime,
) -> dict[str, datetime]:
    """The rounds to come, if leases end as is known and nothing else happens."""
    # A head keeps its turn, as it will.
    first = islice((each for each in staying if each.why in (Why.ROOM, Why.TURN)), FORESEEN_MAX)
    rest = [_as_it_will_wait(each) for each in first]
    times: dict[str, datetime] = {}
    with suppose(fleet) as supposed:
        for at, ending in ends(leases, now, INSTANTS_MAX):
            if not rest:
                break
            for lease in ending:
                supposed.end(lease)
                holdings.add(lease.tenant, -lease.gpus)
            placed = backlog.decide(rest, fleet, holdings, now=at).placed
            apart = Partings(rest)
            for each in placed:
                supposed.took(each.plan)
                apart.placed(each)
                times[each.waiting.id] = at
            rest = [apart.now(each) for each in rest if each.id not in times]
    return times


def _as_it_will_wait(staying: Staying) -> Waiting:
    waiting = staying.waiting
    return Waiting(
        waiting.id, waiting.tenant, waiting.priority, waiting.queued_at, waiting.request,
        kept=staying.kept.nodes if staying.kept else (), ends_at=waiting.ends_at,
        apart=waiting.apart,
    )  # fmt: skip


def _by_node(leases: list[Lease]) -> list[tuple[Lease, ...]]:
    nodes: dict[str, list[Lease]] = {}
    for lease in leases:
        for part in lease.parts:
            nodes.setdefault(part.node_id, []).append(lease)
    together = sorted(nodes.items(), key=lambda each: (len(each[1]), each[0]))
    return [tuple(held) for _, held in together if len(held) > 1]


def _needed(request: Request, fleet: Fleet, together: tuple[Lease, ...]) -> tuple[Lease, ...]:
    """Without those that need not end: whoever ends last is asked first."""
    for lease in reversed(together):
        fewer = tuple(each for each in together if each != lease)
        if fewer and _fits(request, fleet, fewer):
            together = fewer
    return together


def _fits(request: Request, fleet: Fleet, ended: Iterable[Lease]) -> bool:
    with suppose(fleet, ended):
        return isinstance(solver.solve(request, fleet), Plan)


def _soonest(lease: Lease) -> tuple[datetime, int, str]:
    return lease.ends_at or _FAR, lease.gpus, lease.id
