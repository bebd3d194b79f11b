"""How much fits now: leases of one size, if only that size were asked for.

Exact, and from the counts that cohorts keep: as many as one could take, one after the
other, until the solver refuses. So its cost grows with the kinds of nodes and not with the nodes.
"""

from collections.abc import Iterable
from typing import Final

from penstock.placement.fleet import Fleet
from penstock.placement.index.families import Family
from penstock.placement.kinds import cohorts
from penstock.placement.kinds.cohorts import Cohort, Traits
from penstock.placement.kinds.states import State
from penstock.placement.requests import Request, Shape
from penstock.placement.solving import impossible, screens

_UNRESERVED: Final = tuple(rule for rule in cohorts.RULES if rule is not cohorts.open_to_tenant)


def count(request: Request, fleet: Fleet) -> dict[str, int]:
    """By site: how many fit. A site that the request may use is there even if none does."""
    family = fleet.asked(request).get(request.family)
    if family is None:
        return {}
    reach = dict.fromkeys(_sites(request, family), 0)
    if impossible.why(request, {request.family: family}):
        return reach
    allowed = screens.screen(request, family).allowed
    avoided = screens.apart(request, family, allowed)
    return {**reach, **_count(request, family, allowed, avoided)}


def count_all(request: Request, fleet: Fleet) -> dict[str, int]:
    """The same for all tenants together: a reserved node counts, whoever it is reserved for."""
    family = fleet.asked(request).get(request.family)
    if family is None:
        return {}
    reach = {
        traits.site_id: 0 for traits in family.cohorts if cohorts.site_allowed(request, traits)
    }
    every = [
        cohort
        for traits, cohort in family.cohorts.items()
        if all(rule(request, traits) for rule in _UNRESERVED)
    ]
    avoided = screens.apart(request, family, frozenset(every))
    return {**reach, **_count(request, family, every, avoided)}


def sites(request: Request, fleet: Fleet) -> set[str]:
    """Where policy lets the request use a node, of whatever family, and whatever is free there."""
    allowed = request.families_allowed
    families = (f for name, f in fleet.each_family() if allowed is None or name in allowed)
    return {site for family in families for site in _sites(request, family)}


def _sites(request: Request, family: Family) -> set[str]:
    def reached(traits: Traits) -> bool:
        return all(rule(request, traits) for rule in screens.REACH)

    return {traits.site_id for traits in family.cohorts if reached(traits)}


def _count(
    request: Request, family: Family, allowed: Iterable[Cohort], avoided: frozenset[str]
) -> dict[str, int]:
    if request.gpus < 1 or request.nodes < 1:
        return {}
    sites: dict[str, int] = {}
    for cohort in allowed:
        site = cohort.traits.site_id
        sites[site] = sites.get(site, 0) + _of_cohort(request, cohort)
    for id in avoided:
        row = family.rows[id]
        if isinstance(row.state, State):
            sites[row.cohort.traits.site_id] -= _of_state(request, row.state)
    # A gang is nodes of one site.
    return {site: fitting // request.nodes for site, fitting in sites.items()}


def _of_cohort(request: Request, cohort: Cohort) -> int:
    if request.shape is Shape.BAREMETAL:
        return cohort.whole.get(request.gpus, 0)
    return sum(nodes * (free // request.gpus) for free, nodes in enumerate(cohort.free) if nodes)


def _of_state(request: Request, state: State) -> int:
    if request.shape is Shape.BAREMETAL:
        return int(state.whole and state.gpus == request.gpus)
    return state.free // request.gpus
