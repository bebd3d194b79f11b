"""The nodes that come nearest to taking a request, and what each lacks."""

from collections.abc import Callable, Iterator
from heapq import nsmallest
from typing import Final

from penstock.placement.index.families import Family, Row
from penstock.placement.index.groups import Group
from penstock.placement.kinds import cohorts, states
from penstock.placement.kinds.cohorts import Cohort, Traits
from penstock.placement.kinds.states import Kind, State
from penstock.placement.plans import NearMiss
from penstock.placement.requests import Request, Shape
from penstock.placement.solving import screens, slices

NEAR_MAX: Final = 3  # of each sort
Knows = Callable[[Traits], bool]


def find(request: Request, family: Family, knows: Knows) -> tuple[NearMiss, ...]:
    """Nodes that would do but for one rule, then those that lack the fewest GPUs. Named are only
    those that whoever asks may know of."""
    kept_out = [*_kept_out(request, family, knows), *_beside(request, family)]
    kept_out.sort(key=lambda miss: (miss.rule, miss.node_id))
    return (*kept_out[:NEAR_MAX], *_lacking(request, family))


def _kept_out(request: Request, family: Family, knows: Knows) -> Iterator[NearMiss]:
    """The best node of each cohort that one rule alone keeps out."""
    for traits, cohort in family.cohorts.items():
        failed = [rule.__name__ for rule in cohorts.RULES if not rule(request, traits)]
        if len(failed) == 1 and knows(traits):
            only = frozenset((cohort,))
            screen = cohorts.Screen(frozenset(), only, only, {})
            fits = slices.rank(request, family, screen, screens.apart(request, family, only))
            why = traits.blocked or f"{failed[0]} keeps it out"
            for fit in fits[:1]:
                yield NearMiss(fit.node_id, traits.site_id, failed[0], why)


def _beside(request: Request, family: Family) -> Iterator[NearMiss]:
    """Nodes that would do, were it not for what is there already."""
    kind = Kind(request.shape, request.gpus, request.strategy)
    for id in request.apart_from:
        row = family.rows.get(id)
        if row is not None and _would_fit(request, row, kind):
            why = "it holds what this should stay apart from"
            yield NearMiss(id, row.cohort.traits.site_id, "apart", why)


def _would_fit(request: Request, row: Row, kind: Kind) -> bool:
    state = row.state
    allowed = cohorts.failed(request, row.cohort.traits) is None
    return allowed and isinstance(state, State) and states.fits(kind, state)


def _lacking(request: Request, family: Family) -> list[NearMiss]:
    """Of those that every rule lets pass and that are large enough, whoever holds them."""
    avoided = screens.apart(request, family, screens.screen(request, family).allowed)
    seen = sorted(_short(request, family), key=lambda short: short[0])
    found: list[tuple[int, str, Cohort, State]] = []
    for missing, state, cohort, group in seen:
        if len(found) >= NEAR_MAX and missing > found[-1][0]:
            break
        ids = group.least(NEAR_MAX, avoided)
        found += [(missing, id, cohort, state) for id in ids]
    return [
        NearMiss(id, cohort.traits.site_id, _rule(request, state), _why(request, state), missing)
        for missing, id, cohort, state in nsmallest(NEAR_MAX, found, key=lambda near: near[:2])
    ]


def _short(request: Request, family: Family) -> Iterator[tuple[int, State, Cohort, Group]]:
    """By state and cohort: how many GPUs are missing on each of those nodes."""
    whole = request.shape is Shape.BAREMETAL
    for state, groups in family.undivided.live.items():
        if state.gpus != request.gpus if whole else state.gpus < request.gpus:
            continue
        if states.fits(Kind(request.shape, request.gpus, request.strategy), state):
            continue  # for a gang: it would be one of several
        for cohort, group in groups.items():
            if cohorts.failed(request, cohort.traits) is None:
                yield max(0, request.gpus - state.free), state, cohort, group


def _rule(request: Request, state: State) -> str:
    kind = Kind(request.shape, request.gpus, request.strategy)
    return "free_enough" if states.large_enough(kind, state) else "large_enough"


def _why(request: Request, state: State) -> str:
    """ "1 of its 8 GPUs is leased"."""
    leased, unapproved = state.approved - state.free, state.gpus - state.approved
    lacks = {"leased": leased, "not approved": unapproved}
    said = " and ".join(
        f"{count} {'is' if count == 1 else 'are'} {what}" for what, count in lacks.items() if count
    )
    if not said:
        return "its chassis is not approved"
    of = said.replace(" ", f" of its {state.gpus} GPUs ", 1)
    return of if request.shape is Shape.BAREMETAL else f"{of}; {request.gpus} are needed"
