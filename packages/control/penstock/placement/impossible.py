"""Requests that can never fit, however long one waits. Told apart from "not now"."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from penstock.placement import cohorts
from penstock.placement.cohorts import Traits
from penstock.placement.families import Family
from penstock.placement.fleet import Fleet
from penstock.placement.nodes import WHOLE_MILLI
from penstock.placement.requests import Request, Shape, Share


def nothing_asked(request: Request, _family: Family) -> str:
    if request.gpus < 1 or request.nodes < 1:
        return f"{request.nodes} nodes with {request.gpus} GPUs are nothing to place"
    return ""


def gang_of_parts(request: Request, _family: Family) -> str:
    parts = request.nodes > 1 and request.shape is not Shape.BAREMETAL
    return "a gang takes whole nodes; ask for baremetal" if parts else ""


def too_many_gpus(request: Request, family: Family) -> str:
    if request.gpus in family.sizes:
        return ""
    largest = max(family.sizes)
    if request.shape is Shape.GPU_SLICE and request.gpus > largest:
        return f"the largest {request.family} node has {largest} GPUs, not {request.gpus}"
    if request.shape is Shape.BAREMETAL:
        known = ", ".join(map(str, sorted(family.sizes)))
        return f"no {request.family} node has {request.gpus} GPUs; they have {known}"
    return ""


def too_many_nodes(request: Request, family: Family) -> str:
    known = family.sizes.get(request.gpus, 0)
    if request.nodes > max(1, known):
        return f"there are {known} {request.family} nodes with {request.gpus} GPUs"
    return ""


CHECKS: Final[tuple[Callable[[Request, Family], str], ...]] = (
    nothing_asked,
    gang_of_parts,
    too_many_gpus,
    too_many_nodes,
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
            return f"policy does not allow site {asked.site_id}"
    if asked.price_micros_max is not None and asked.price_micros_max < 0:
        return "the price ceiling is negative"
    return ""


def nowhere(asked: Request | Share, families: Iterable[Family]) -> str:
    """What policy wants of a node and none has, be it free or not. Asked only of what does
    not fit, since it looks at every cohort."""
    if not asked.residency and asked.price_micros_max is None:
        return ""
    every = [traits for family in families for traits in family.cohorts]
    here = [traits for traits in every if _at_an_allowed_site(asked, traits)] or every
    resident = [traits for traits in here if cohorts.resident(asked, traits)]
    if not resident:
        return _untagged(asked, here)
    ceiling = asked.price_micros_max
    least = min(traits.price_micros_per_gpu_hour for traits in resident)
    if ceiling is not None and least > ceiling:
        return f"the cheapest node asks {least} micros for a GPU-hour; the ceiling is {ceiling}"
    return ""


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
