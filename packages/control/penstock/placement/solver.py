"""The placement engine's door: where a request goes, or why it goes nowhere.

Nodes that no rule can tell apart form a cohort; nodes of a cohort that lie the same form a
state. Rules judge cohorts (`cohorts.RULES`), scores judge states (`states.SCORES` for whole
GPUs, `potentials.TERMS` for shares), so a decision costs the same in a fleet of any size.
"""

from typing import Final

from penstock.placement import explanations, gangs, impossible, shares, slices
from penstock.placement.families import Family
from penstock.placement.fleet import Fleet
from penstock.placement.plans import Explanation, Plan, Refusal
from penstock.placement.requests import Request, Share

POLICY: Final = "states/1"


def solve(asked: Request | Share, fleet: Fleet) -> Plan | Refusal:
    """A plan, or a refusal; one that is `never` is no matter of waiting."""
    families = fleet.asked(asked)
    if not families:
        return _never(impossible.unknown(asked, fleet), families)
    if isinstance(asked, Share):
        why = impossible.why_share(asked, families.values())
        return _never(why, families) if why else shares.solve(asked, fleet)
    family = families[asked.family]
    why = impossible.why(asked, family)
    if why:
        return _never(why, families)
    return gangs.solve(asked, family) if asked.nodes > 1 else slices.solve(asked, family)


def explain(request: Request, fleet: Fleet, counts: tuple[int, ...] = ()) -> Explanation:
    """Of a refused request: the nodes that almost fit, and the changes that fit now."""
    return explanations.explain(request, fleet, counts, solve)


def nearest(request: Request, fleet: Fleet, counts: tuple[int, ...]) -> Request | None:
    """The nearest change that would fit now: any site first, then fewer GPUs."""
    return explanations.nearest(request, fleet, counts, solve)


def _never(why: str, families: dict[str, Family]) -> Refusal:
    known = sum(len(family.rows) for family in families.values())
    return Refusal({"possible": known}, known, never=True, why=why)
