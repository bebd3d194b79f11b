"""Which nodes policy lets a request see, and how many each rule removed."""

from typing import Final

from penstock.placement.index.families import Family
from penstock.placement.kinds import cohorts, states
from penstock.placement.kinds.cohorts import Cohort, Screen
from penstock.placement.kinds.states import Kind, State
from penstock.placement.requests import Request, Shape, Share

REMEMBERED_MAX: Final = 1024
# The names of all rules, in the order in which a node meets them.
TALLIED: Final = (
    *(rule.__name__ for rule in cohorts.RULES),
    *("apart", "kept", "large_enough", "free_enough"),
)
# Rules that say what a request may use, whatever is wrong with it now.
REACH: Final = tuple(rule for rule in cohorts.RULES if rule is not cohorts.schedulable)


def screen(asked: Request | Share, family: Family) -> Screen:
    """Remembered until the cohorts change."""
    key = (
        isinstance(asked, Share), asked.site_id, asked.sites, asked.residency,
        asked.price_micros_max, asked.tenant,
    )  # fmt: skip
    found = family.screens.get(key)
    if found is None:
        if len(family.screens) >= REMEMBERED_MAX:
            family.screens.clear()
        found = family.screens[key] = _screen(asked, family)
    return found


def _screen(asked: Request | Share, family: Family) -> Screen:
    rejections = dict.fromkeys([rule.__name__ for rule in cohorts.RULES], 0)
    own: set[Cohort] = set()
    rest: set[Cohort] = set()
    for traits, cohort in family.cohorts.items():
        failed = cohorts.failed(asked, traits)
        if failed is not None:
            rejections[failed] += cohort.size
        elif traits.reserved_for:
            own.add(cohort)
        else:
            rest.add(cohort)
    return Screen(frozenset(own), frozenset(rest), frozenset(own | rest), rejections)


def sites(request: Request, family: Family) -> frozenset[str]:
    """The sites with a node that could take the request some day."""
    return frozenset(
        traits.site_id
        for traits, cohort in family.cohorts.items()
        if all(rule(request, traits) for rule in REACH) and _large(request, cohort)
    )


def apart(asked: Request | Share, family: Family, allowed: frozenset[Cohort]) -> frozenset[str]:
    """The nodes that the request would see, and must stay apart from or leave to others."""
    if not asked.apart_from and not asked.kept:
        return frozenset()
    rows = ((id, family.rows.get(id)) for id in asked.closed)
    return frozenset(id for id, row in rows if row is not None and row.cohort in allowed)


def closed(asked: Request | Share, avoided: frozenset[str]) -> dict[str, int]:
    """How many of these nodes each of the two rules removed."""
    apart = len(avoided.intersection(asked.apart_from)) if avoided else 0
    return {"apart": apart, "kept": len(avoided) - apart}


def tally(
    request: Request, family: Family, seen: Screen, avoided: frozenset[str]
) -> tuple[dict[str, int], int]:
    """How many nodes each rule removed, and how many fit."""
    kind = Kind(request.shape, request.gpus, request.strategy)
    total = large = fitting = 0
    for cohort in seen.allowed:
        total += cohort.size
        large += _large(request, cohort)
        fitting += _fitting(request, cohort)
    for id in avoided:
        state = family.rows[id].state
        total -= 1
        if isinstance(state, State):
            large -= states.large_enough(kind, state)
            fitting -= states.fits(kind, state)
    counts = {**seen.rejections, **closed(request, avoided)}
    counts["large_enough"] = total - large
    counts["free_enough"] = large - fitting
    return counts, fitting


def _large(request: Request, cohort: Cohort) -> int:
    if request.shape is Shape.BAREMETAL:
        return cohort.complete.get(request.gpus, 0)
    return sum(cohort.approved[request.gpus :])


def _fitting(request: Request, cohort: Cohort) -> int:
    if request.shape is Shape.BAREMETAL:
        return cohort.whole.get(request.gpus, 0)
    return sum(cohort.free[request.gpus :])
