"""Requests that can never fit, however long one waits. Told apart from "not now"."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from penstock.placement.fleet import Fleet
from penstock.placement.index.families import Family
from penstock.placement.kinds import cohorts
from penstock.placement.kinds.cohorts import Cohort, Traits
from penstock.placement.nodes import WHOLE_MILLI
from penstock.placement.requests import Request, Shape, Share
from penstock.placement.solving import screens


def nothing_asked(request: Request, _family: Family) -> str:
    if request.gpus < 1 or request.nodes < 1:
        return f"{request.nodes} nodes with {request.gpus} GPUs are nothing to place"
    return ""


def gang_of_parts(request: Request, _family: Family) -> str:
    parts = request.nodes > 1 and request.shape is not Shape.BAREMETAL
    return "a gang takes whole nodes; ask for baremetal" if parts else ""


CHECKS: Final[tuple[Callable[[Request, Family], str], ...]] = (
    nothing_asked,
    gang_of_parts,
)


def unknown(asked: Request | Share, fleet: Fleet) -> str:
    """Why no family may serve it."""
    names = (asked.family,) if isinstance(asked, Request) else asked.families
    if any(fleet.family(name) for name in names):
        return f"policy does not allow family {', '.join(names)}"
    known = ", ".join(fleet.families()) or "none"
    return f"no node of family {', '.join(names) or 'any'} is known; there is {known}"


def why(asked: Request | Share, families: Mapping[str, Family]) -> str:
    """What makes it impossible; empty if it is not."""
    if wrong := contradiction(asked):
        return wrong
    if isinstance(asked, Share):
        return _share(asked, max(max(family.sizes) for family in families.values()))
    family = families[asked.family]
    return next((wrong for check in CHECKS if (wrong := check(asked, family))), "")


def contradiction(asked: Request | Share) -> str:
    """What policy and request cannot both have."""
    if asked.sites is not None:
        if not asked.sites:
            return "policy allows no site"
        if asked.site_id and asked.site_id not in asked.sites:
            return "policy does not allow the site that is asked for"
    if asked.price_micros_max is not None and asked.price_micros_max < 0:
        return "the price ceiling is negative"
    return ""


def nowhere(asked: Request | Share, families: Iterable[Family]) -> str:
    """What no node has that the request may use, be it free or not, schedulable or not. Asked
    only of what does not fit, since it may look at every cohort."""
    families = list(families)
    if any(_somewhere(asked, family) for family in families):
        return ""
    every = {traits: cohort for family in families for traits, cohort in family.cohorts.items()}
    if wrong := _unmet(asked, list(every)):
        return wrong
    reach = [cohort for traits, cohort in every.items() if _within_reach(asked, traits)]
    # Where there is no node yet, or none that is open, one may come.
    if isinstance(asked, Share) or not reach:
        return ""
    whose = " that may be used" if len(reach) < len(every) else ""
    return _too_many_gpus(asked, reach, whose) or _too_many_nodes(asked, reach, whose)


def _somewhere(asked: Request | Share, family: Family) -> bool:
    """Whether a node that is open to it now has so many GPUs; then none of this is impossible."""
    if isinstance(asked, Share) or asked.nodes > 1:
        return False
    whole, gpus = asked.shape is Shape.BAREMETAL, asked.gpus
    return any(
        gpus in cohort.sizes or (not whole and gpus <= max(cohort.sizes))
        for cohort in screens.screen(asked, family).allowed
    )


def _unmet(asked: Request | Share, every: list[Traits]) -> str:
    """What policy wants of a node and none has."""
    if not asked.residency and asked.price_micros_max is None:
        return ""
    here = [traits for traits in every if _at_an_allowed_site(asked, traits)] or every
    resident = [traits for traits in here if cohorts.resident(asked, traits)]
    if not resident:
        return _untagged(asked, here)
    ceiling = asked.price_micros_max
    least = min(traits.price_micros_per_gpu_hour for traits in resident)
    if ceiling is not None and least > ceiling:
        return f"the cheapest node asks {least} micros for a GPU-hour; the ceiling is {ceiling}"
    return ""


def _within_reach(asked: Request | Share, traits: Traits) -> bool:
    return all(rule(asked, traits) for rule in screens.REACH)


def _too_many_gpus(request: Request, reach: list[Cohort], whose: str) -> str:
    sizes = sorted({gpus for cohort in reach for gpus in cohort.sizes})
    if request.shape is Shape.GPU_SLICE:
        if request.gpus <= sizes[-1]:
            return ""
        return f"the largest {request.family} node{whose} has {sizes[-1]} GPUs, not {request.gpus}"
    if request.gpus in sizes:
        return ""
    known = ", ".join(map(str, sizes))
    return f"no {request.family} node{whose} has {request.gpus} GPUs; they have {known}"


def _too_many_nodes(request: Request, reach: list[Cohort], whose: str) -> str:
    """A gang is nodes of one site."""
    if request.nodes == 1:
        return ""
    sites: dict[str, int] = {}
    for cohort in reach:
        site = cohort.traits.site_id
        sites[site] = sites.get(site, 0) + cohort.sizes.get(request.gpus, 0)
    most = max(sites.values())
    if request.nodes <= most:
        return ""
    nodes = f"{request.nodes} {request.family} nodes of {request.gpus} GPUs{whose}"
    return f"no site has {nodes}; the most is {most}"


def _at_an_allowed_site(asked: Request | Share, traits: Traits) -> bool:
    return cohorts.site_allowed(asked, traits) and cohorts.site_permitted(asked, traits)


def _untagged(asked: Request | Share, here: list[Traits]) -> str:
    known = frozenset[str]().union(*(traits.tags for traits in here))
    missing = [tag for tag in asked.residency if tag not in known]
    where = "at the sites that are allowed" if asked.site_id or asked.sites else "of this family"
    if missing:
        return f"no node {where} is tagged {missing[0]}"
    return f"no node {where} has all of the tags {', '.join(asked.residency)}"


def _share(share: Share, gpus_max: int) -> str:
    if min(share.gpus, share.milli, share.cpu_milli, share.memory_mib) < 0:
        return "a share of less than nothing cannot be placed"
    if share.milli > WHOLE_MILLI or (share.gpus > 1 and share.milli < WHOLE_MILLI):
        return f"{share.gpus} GPUs of {share.milli}/1000 each: only a single GPU can be shared"
    if share.gpus == 1 and share.milli == 0:
        return "a GPU of which nothing is taken is none; ask for 0 GPUs"
    if share.gpus > gpus_max:
        return f"the largest node has {gpus_max} GPUs, not {share.gpus}"
    return ""
