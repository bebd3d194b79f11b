"""The placement engine's door: where a request goes, or why it goes nowhere.

Nodes that no rule can tell apart form a cohort; nodes of a cohort that lie the same form a
state. Rules judge cohorts (`cohorts.RULES`), scores judge states (`states.SCORES` for whole
GPUs, `potentials.TERMS` for shares), so a decision costs the same in a fleet of any size.
"""

from dataclasses import replace
from typing import Final

from penstock.placement.explaining import explanations
from penstock.placement.explaining.leeways import Leeway
from penstock.placement.fleet import Fleet
from penstock.placement.index.families import Family
from penstock.placement.plans import Explanation, Plan, Refusal
from penstock.placement.requests import Request, Share
from penstock.placement.sharing import shares
from penstock.placement.solving import gangs, impossible, slices

POLICY: Final = "states/1"


def solve(asked: Request | Share, fleet: Fleet) -> Plan | Refusal:
    """A plan, or a refusal; one that is `never` is no matter of waiting."""
    families = fleet.asked(asked)
    if not families:
        return _never(impossible.unknown(asked, fleet), families)
    why = impossible.why(asked, families)
    if why:
        return _never(why, families)
    solved = _search(asked, fleet, families)
    if isinstance(solved, Refusal) and (why := impossible.nowhere(asked, families.values())):
        return replace(solved, never=True, why=why)
    return solved


def explain(request: Request, fleet: Fleet, leeway: Leeway) -> Explanation:
    """Of a refused request: the nodes that almost fit, and the changes that fit now."""
    return explanations.explain(request, fleet, leeway, solve)


def _search(asked: Request | Share, fleet: Fleet, families: dict[str, Family]) -> Plan | Refusal:
    if isinstance(asked, Share):
        return shares.solve(asked, fleet)
    family = families[asked.family]
    return gangs.solve(asked, family) if asked.nodes > 1 else slices.solve(asked, family)


def _never(why: str, families: dict[str, Family]) -> Refusal:
    known = sum(len(family.rows) for family in families.values())
    return Refusal({"possible": known}, known, never=True, why=why)
