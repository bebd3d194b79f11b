"""Gangs: whole nodes at one site, on one fabric leaf or as few as can be, all or none."""

from penstock.placement.index.families import Family
from penstock.placement.kinds.cohorts import Cohort
from penstock.placement.plans import Candidate, Plan, Refusal
from penstock.placement.requests import Request
from penstock.placement.solving import screens, slices
from penstock.placement.solving.gatherings import Gathering


def solve(request: Request, family: Family) -> Plan | Refusal:
    seen = screens.screen(request, family)
    avoided = screens.apart(request, family, seen.allowed)
    rejections, fitting = screens.tally(request, family, seen, avoided)
    sites = _by_site(request, family, seen.allowed, avoided)
    gangs = sorted(site.gather(request.nodes) for site in sites if len(site) >= request.nodes)
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


def _by_site(
    request: Request, family: Family, allowed: frozenset[Cohort], avoided: frozenset[str]
) -> list[Gathering]:
    sites: dict[str, Gathering] = {}
    for cohort in allowed:
        wholes = family.wholes.get((cohort, request.gpus))
        if wholes is not None:
            id = cohort.traits.site_id
            sites.setdefault(id, Gathering(id)).add(wholes)
    for id in avoided:
        row = family.rows[id]
        if site := sites.get(row.cohort.traits.site_id):
            site.avoid(row.leaf, id)
    return list(sites.values())
