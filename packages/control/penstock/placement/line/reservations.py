"""Where a request that fits nowhere now will fit soonest: known ends, else the fewest GPUs missing.

Found over states, as the solver does, so it costs the same in a fleet of any size.
"""

from collections.abc import Iterator
from datetime import datetime
from heapq import nsmallest
from typing import Final, NamedTuple

from penstock.placement import solver
from penstock.placement.fleet import Fleet
from penstock.placement.index.groups import Group
from penstock.placement.kinds import cohorts, states
from penstock.placement.kinds.states import Divided, Kind, State
from penstock.placement.line.suppositions import suppose
from penstock.placement.line.waiting import Lease, Reservation, ends
from penstock.placement.plans import Plan
from penstock.placement.requests import Request, Shape

INSTANTS_MAX: Final = 128


class Near(NamedTuple):
    """A node that could take the request if `missing` more of its GPUs were free."""

    missing: int
    node_id: str
    site_id: str


def reserve(
    request: Request,
    fleet: Fleet,
    leases: tuple[Lease, ...],
    now: datetime,
    kept: tuple[str, ...] = (),
) -> Reservation | None:
    """The nodes kept already, if they can still take it; None if no end of a lease would help."""
    if kept and all(_missing_on(request, fleet, id) is not None for id in kept):
        return Reservation(kept, _free_at(request, fleet, kept, leases, now))
    return _foreseen(request, fleet, leases, now) or _nearest(request, fleet)


def near(request: Request, fleet: Fleet, count: int) -> list[Near]:
    """The nodes that lack the fewest GPUs; of equal ones, those with the least id."""
    found: list[Near] = []
    for missing, site, group in sorted(_candidates(request, fleet), key=lambda each: each[0]):
        if len(found) >= count and missing > found[-1].missing:
            break
        found += [Near(missing, id, site) for id in _least(request, group, count)]
    return nsmallest(count, found)


def _foreseen(
    request: Request, fleet: Fleet, leases: tuple[Lease, ...], now: datetime
) -> Reservation | None:
    with suppose(fleet) as supposed:
        for at, ending in ends(leases, now, INSTANTS_MAX):
            for lease in ending:
                supposed.end(lease)
            plan = solver.solve(request, fleet)
            if isinstance(plan, Plan):
                return Reservation(plan.node_ids, at)
    return None


def _free_at(
    request: Request,
    fleet: Fleet,
    kept: tuple[str, ...],
    leases: tuple[Lease, ...],
    now: datetime,
) -> datetime | None:
    """When nothing is missing any more on the kept nodes, if that is known."""
    there = tuple(lease for lease in leases if any(p.node_id in kept for p in lease.parts))
    with suppose(fleet) as supposed:
        for at, ending in ends(there, now, INSTANTS_MAX):
            for lease in ending:
                supposed.end(lease)
            if not any(_missing_on(request, fleet, id) for id in kept):
                return at
    return None


def _nearest(request: Request, fleet: Fleet) -> Reservation | None:
    if request.nodes == 1:
        found = near(request, fleet, 1)
        return Reservation((found[0].node_id,)) if found else None
    gangs: list[tuple[int, str, tuple[str, ...]]] = []
    for site in sorted({site for _, site, _ in _candidates(request, fleet)}):
        there = sorted(_at(request, fleet, site))[: request.nodes]
        if len(there) == request.nodes:
            gangs.append((sum(n.missing for n in there), site, tuple(n.node_id for n in there)))
    return Reservation(min(gangs)[2]) if gangs else None


def _at(request: Request, fleet: Fleet, wanted: str) -> Iterator[Near]:
    for missing, site, group in _candidates(request, fleet):
        if site == wanted:
            yield from (Near(missing, id, site) for id in _least(request, group, request.nodes))


def _least(request: Request, group: Group, count: int) -> list[str]:
    return nsmallest(count, (id for id in group if id not in request.closed))


def _candidates(request: Request, fleet: Fleet) -> Iterator[tuple[int, str, Group]]:
    """By state and cohort: GPUs missing, site, nodes. Only what rules allow and is large enough."""
    kind = Kind(request.shape, request.gpus, request.strategy)
    for family in fleet.asked(request).values():
        for state, groups in family.undivided.live.items():
            if not states.large_enough(kind, state):
                continue
            for cohort, group in groups.items():
                if cohorts.failed(request, cohort.traits) is None:
                    yield _missing(request, state), cohort.traits.site_id, group


def _missing_on(request: Request, fleet: Fleet, id: str) -> int | None:
    """How many GPUs the node lacks; None if it cannot take the request whatever ends there."""
    family = fleet.asked(request).get(request.family)
    row = family.rows.get(id) if family else None
    if row is None or id in request.closed or isinstance(row.state, Divided):
        return None
    kind = Kind(request.shape, request.gpus, request.strategy)
    if cohorts.failed(request, row.cohort.traits) or not states.large_enough(kind, row.state):
        return None
    return _missing(request, row.state)


def _missing(request: Request, state: State) -> int:
    """A whole node needs all of its GPUs; a slice, as many as it asks for."""
    wanted = state.gpus if request.shape is Shape.BAREMETAL else request.gpus
    return max(0, wanted - state.free)
