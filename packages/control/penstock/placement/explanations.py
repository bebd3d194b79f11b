"""Why nothing fits, and what would: each answer is found by running the solver."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from penstock.placement import cohorts, slices
from penstock.placement.families import Family
from penstock.placement.fleet import Fleet
from penstock.placement.plans import Change, Explanation, NearMiss, Plan, Refusal
from penstock.placement.requests import Request, Shape
from penstock.placement.states import State

Solve = Callable[[Request, Fleet], Plan | Refusal]
NEAR_MAX: Final = 3
CHANGES_MAX: Final = 4


def explain(request: Request, fleet: Fleet, counts: tuple[int, ...], solve: Solve) -> Explanation:
    family = fleet.family(request.family)
    near = () if family is None else near_misses(request, family)
    return Explanation(near, tuple(_first(changes(request, fleet, counts), fleet, solve)))


def nearest(
    request: Request, fleet: Fleet, counts: tuple[int, ...], solve: Solve
) -> Request | None:
    """The nearest change that would fit now: any site first, then fewer GPUs."""
    tries = (*_elsewhere(request), *_fewer(request, counts))
    fitting = (change for _, change in tries if isinstance(solve(change, fleet), Plan))
    return next(fitting, None)


def changes(
    request: Request, fleet: Fleet, counts: tuple[int, ...]
) -> Iterator[tuple[str, Request]]:
    """Changes of the request, the smallest first."""
    yield from _elsewhere(request)
    yield from _fewer(request, counts)
    yield from _other_families(request, fleet)
    if request.apart_from:
        yield "beside what it should stay apart from", replace(request, apart_from=())
    if request.price_micros_max is not None:
        yield "at any price", replace(request, price_micros_max=None)


def _elsewhere(request: Request) -> list[tuple[str, Request]]:
    return [("at any site", replace(request, site_id=None))] if request.site_id else []


def _fewer(request: Request, counts: tuple[int, ...]) -> list[tuple[str, Request]]:
    smaller = [count for count in sorted(counts, reverse=True) if count < request.gpus]
    found: list[tuple[str, Request]] = []
    for site in dict.fromkeys((request.site_id, None)):
        where = "" if site == request.site_id else " at any site"
        for count in smaller:
            fewer = replace(request, gpus=count, site_id=site)
            plural = "s" if count > 1 else ""
            found.append((f"with {count} GPU{plural}{where}", fewer))
    if request.nodes > 1:
        found += [(f"as {n} nodes", replace(request, nodes=n)) for n in _halves(request.nodes)]
    return found


def _halves(nodes: int) -> list[int]:
    found: list[int] = []
    while nodes := nodes // 2:
        found.append(nodes)
    return found


def _other_families(request: Request, fleet: Fleet) -> list[tuple[str, Request]]:
    allowed = request.families_allowed
    return [
        (f"with {name} GPUs", replace(request, family=name))
        for name in fleet.families()
        if name != request.family and (allowed is None or name in allowed)
    ]


def _first(tries: Iterable[tuple[str, Request]], fleet: Fleet, solve: Solve) -> Iterator[Change]:
    """The first that fit; elsewhere only what does not fit nearer."""
    found: set[tuple[str, int, int]] = set()
    for what, change in tries:
        size = (change.family, change.gpus, change.nodes)
        if size in found or len(found) >= CHANGES_MAX:
            continue
        plan = solve(change, fleet)
        if isinstance(plan, Plan):
            found.add(size)
            yield Change(what, change, plan.node_id)


def near_misses(request: Request, family: Family) -> tuple[NearMiss, ...]:
    """Nodes that would do but for one rule, then those with the most GPUs free."""
    found: list[NearMiss] = []
    for traits, cohort in family.cohorts.items():
        failed = [rule.__name__ for rule in cohorts.RULES if not rule(request, traits)]
        if len(failed) == 1:
            only = frozenset((cohort,))
            screen = cohorts.Screen(frozenset(), only, only, {})
            fits = slices.rank(request, family, screen, frozenset())
            why = traits.blocked or f"{failed[0]} keeps it out"
            found += [NearMiss(fit.node_id, failed[0], why) for fit in fits[:1]]
    found.sort(key=lambda miss: (miss.rule, miss.node_id))
    return (*found[:NEAR_MAX], *_fullest(request, family))


def _fullest(request: Request, family: Family) -> list[NearMiss]:
    """The node with the most GPUs free, of those that policy allows."""
    if request.shape is Shape.BAREMETAL:
        return []
    seen = [
        (-state.free, id, state)
        for state, groups in family.undivided.live.items()
        for cohort, group in groups.items()
        if cohorts.failed(request, cohort.traits) is None
        and 0 < state.free < request.gpus
        and (id := group.first(request.closed)) is not None
    ]
    return [_lacking(request, id, state) for _, id, state in sorted(seen)[:1]]


def _lacking(request: Request, id: str, state: State) -> NearMiss:
    why = f"{state.free} of its {state.gpus} GPUs are free, not {request.gpus}"
    return NearMiss(id, "free_enough", why)
