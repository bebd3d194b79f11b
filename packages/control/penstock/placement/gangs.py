"""Gangs: whole nodes at one site, on one fabric leaf or as few as can be, all or none."""

from collections.abc import Iterable
from typing import NamedTuple

from penstock.placement import screens, slices
from penstock.placement.cohorts import Cohort
from penstock.placement.families import Family
from penstock.placement.plans import Candidate, Plan, Refusal
from penstock.placement.requests import Request


class Gang(NamedTuple):
    """The order of its fields is the order in which gangs are preferred."""

    leaves: int
    leftover: int  # whole nodes that stay on the last leaf
    site_id: str
    node_ids: tuple[str, ...]


def solve(request: Request, family: Family) -> Plan | Refusal:
    seen = screens.screen(request, family)
    avoided = screens.apart(request, family, seen.allowed)
    rejections, fitting = screens.tally(request, family, seen, avoided)
    gangs = sorted(
        gather(site_id, leaves, request.nodes)
        for site_id, leaves in _leaves(request, seen.allowed, avoided).items()
        if sum(map(len, leaves)) >= request.nodes
    )
    if not gangs:
        return Refusal({**rejections, "together": fitting}, len(family.rows))
    best = gangs[0]
    return Plan(
        site_id=best.site_id,
        parts=tuple(slices.part(request, family, id, family.rows[id]) for id in best.node_ids),
        candidates=tuple(
            Candidate(gang.node_ids[0], (gang.leaves, gang.leftover))
            for gang in gangs[: slices.CANDIDATES_MAX]
        ),
        rejections={**rejections, "together": 0},
    )


def gather(site_id: str, leaves: list[list[str]], nodes: int) -> Gang:
    """The largest leaves first, and last the tightest that completes the gang."""
    rest = sorted(leaves, key=lambda leaf: (-len(leaf), leaf))
    chosen: list[str] = []
    used = 1
    while nodes - len(chosen) > len(rest[0]):
        chosen += rest.pop(0)
        used += 1
    left = nodes - len(chosen)
    enough = [leaf for leaf in rest if len(leaf) >= left]
    last = min(enough, key=lambda leaf: (len(leaf), leaf))
    return Gang(used, len(last) - left, site_id, (*chosen, *last[:left]))


def _leaves(
    request: Request, allowed: Iterable[Cohort], avoided: frozenset[str]
) -> dict[str, list[list[str]]]:
    """By site: the whole nodes on each leaf. Without a known leaf, a node stands alone."""
    sites: dict[str, dict[str, set[str]]] = {}
    for cohort in allowed:
        leaves = sites.setdefault(cohort.traits.site_id, {})
        for leaf, ids in cohort.wholes.get(request.gpus, {}).items():
            for key, members in [(leaf, ids)] if leaf else [(f"\0{id}", {id}) for id in ids]:
                leaves[key] = leaves.get(key, set()) | (members - avoided)
    return {
        site: [sorted(members) for members in leaves.values() if members]
        for site, leaves in sites.items()
    }
