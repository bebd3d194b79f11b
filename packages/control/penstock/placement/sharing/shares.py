"""Shares of divisible nodes: part of a GPU, or whole ones, with CPU and memory."""

from dataclasses import dataclass

import numpy as np

from penstock.placement.fleet import Fleet
from penstock.placement.index.families import Family
from penstock.placement.plans import Candidate, Part, Plan, Refusal
from penstock.placement.requests import Share
from penstock.placement.sharing import searches
from penstock.placement.sharing.searches import Fit, Search
from penstock.placement.solving import screens


@dataclass(frozen=True)
class Found:
    fits: list[Fit]
    rejections: dict[str, int]


def solve(share: Share, fleet: Fleet) -> Plan | Refusal:
    scarcity = _scarcity(fleet)
    fits: list[tuple[Fit, Family]] = []
    rejections: dict[str, int] = {}
    considered = 0
    for name, family in fleet.asked(share).items():
        considered += len(family.rows)
        found = _look(share, family, scarcity.get(name, 0.0))
        fits += [(fit, family) for fit in found.fits]
        rejections = {rule: rejections.get(rule, 0) + n for rule, n in found.rejections.items()}
    if not fits:
        return Refusal(rejections, considered)
    fits.sort(key=lambda fit: fit[0])
    best, family = fits[0]
    return Plan(
        site_id=family.rows[best.node_id].cohort.traits.site_id,
        parts=(_part(share, family, best),),
        candidates=tuple(
            Candidate(fit.node_id, (fit.tier, round(fit.cost), round(fit.leftover)), fit.alike)
            for fit, _ in fits[: searches.CANDIDATES_MAX]
        ),
        rejections=rejections,
    )


def _scarcity(fleet: Fleet) -> dict[str, float]:
    """By family: what a thousandth of a GPU costs because others cannot do without it."""
    weight = fleet.weights.scarcity
    if not weight:
        return {}
    boards = {name: family.board for name, family in fleet.each_family()}
    free = {name: board.milli_free for name, board in boards.items()}
    total = sum(board.milli_total for board in boards.values())
    leaning = fleet.workload.scarcity(free, total)
    return {name: weight * lean for name, lean in leaning.items()}


def _look(share: Share, family: Family, scarcity: float) -> Found:
    """The best nodes of one family, and how many each rule removed."""
    seen = screens.screen(share, family)
    avoided = screens.apart(share, family, seen.allowed)
    fits: list[Fit] = []
    total = large = fitting = 0
    for tier, allowed in enumerate((seen.own, seen.rest)):
        if allowed:
            search = Search(share, family, allowed, avoided, tier, scarcity)
            here, rows = search.here, search.fitting
            total += int(here.sum())
            large += int(here[family.board.gpus >= share.gpus].sum())
            fitting += int(here[rows].sum())
            fits += search.best()
    counts = {**seen.rejections, **screens.closed(share, avoided)}
    counts |= {"large_enough": total - large, "free_enough": large - fitting}
    return Found(fits, counts)


def _part(share: Share, family: Family, fit: Fit) -> Part:
    """The GPU that was picked, or the first idle ones."""
    row = family.rows[fit.node_id]
    milli = family.columns.milli[row.number, : row.layout.gpus]
    gpus: list[int] = np.flatnonzero(milli == fit.pick)[: share.gpus].tolist()
    slot_ids = tuple(row.slot_ids[gpu] for gpu in gpus)
    return Part(fit.node_id, slot_ids, share.milli, share.cpu_milli, share.memory_mib)
