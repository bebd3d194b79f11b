"""GPUs of one node: a slice of it, or all of it."""

from typing import Final, NamedTuple

from penstock.placement.index.families import Family, Row
from penstock.placement.index.groups import Group
from penstock.placement.kinds import layouts
from penstock.placement.kinds.cohorts import Cohort, Screen
from penstock.placement.kinds.states import Kind
from penstock.placement.plans import Candidate, Part, Plan, Refusal
from penstock.placement.requests import Request, Shape
from penstock.placement.solving import screens

CANDIDATES_MAX: Final = 3


class Fit(NamedTuple):
    """The order of its fields is the order in which fits are preferred."""

    score: tuple[int, ...]
    price_micros_per_gpu_hour: int
    node_id: str
    alike: int


def solve(request: Request, family: Family) -> Plan | Refusal:
    seen = screens.screen(request, family)
    avoided = screens.apart(request, family, seen.allowed)
    rejections, fitting = screens.tally(request, family, seen, avoided)
    if not fitting:
        return Refusal(rejections, len(family.rows))
    fits = rank(request, family, seen, avoided)
    best = family.rows[fits[0].node_id]
    return Plan(
        site_id=best.cohort.traits.site_id,
        parts=(part(request, family, fits[0].node_id, best),),
        candidates=tuple(Candidate(fit.node_id, fit.score, fit.alike) for fit in fits),
        rejections=rejections,
    )


def rank(request: Request, family: Family, seen: Screen, avoided: frozenset[str]) -> list[Fit]:
    """The best node of each of the best states; the tenant's own reserved nodes first."""
    fits: list[Fit] = []
    kind = Kind(request.shape, request.gpus, request.strategy)
    for tier, allowed in enumerate((seen.own, seen.rest)):
        if not allowed:
            continue
        for score, state in family.ranking(kind):
            groups = family.undivided.live.get(state)
            if groups:
                fits += _fits((tier, *score), groups, allowed, avoided)
            if len(fits) >= CANDIDATES_MAX:
                return fits[:CANDIDATES_MAX]
    return fits


def _fits(
    score: tuple[int, ...],
    groups: dict[Cohort, Group],
    allowed: frozenset[Cohort],
    avoided: frozenset[str],
) -> list[Fit]:
    """Of nodes in the same state the cheapest, then the least id."""
    fits: list[Fit] = []
    for cohort, group in groups.items():
        if cohort in allowed and (id := group.first(avoided)) is not None:
            alike = len(group) - (sum(each in group for each in avoided) if avoided else 0)
            fits.append(Fit(score, cohort.traits.price_micros_per_gpu_hour, id, alike))
    return sorted(fits)


def part(request: Request, family: Family, id: str, row: Row) -> Part:
    """The chassis and all GPUs, or the GPUs that lie best."""
    if request.shape is Shape.BAREMETAL:
        return Part(id, (row.chassis_id, *row.slot_ids))
    free: int = family.columns.free.item(row.number)
    gpus = layouts.bits(row.layout.choose(free, request.gpus))
    return Part(id, tuple([row.slot_ids[gpu] for gpu in gpus]))
