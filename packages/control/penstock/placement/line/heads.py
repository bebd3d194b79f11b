"""Heads: those who wait and have nodes kept for them, which are closed to everybody behind them.

A head speaks for every site that it could use. Whoever does not fit has nodes kept at the sites
for which no head before it speaks, if it could use any of those, and becomes a head too. So each
site of a family has someone who is not overtaken there, and nobody is passed over for ever.

A head of an earlier round keeps its nodes, whoever of its own priority speaks for its sites now,
and no other of that priority may use them; only one of higher priority ends that.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from penstock.placement.fleet import Fleet
from penstock.placement.index.families import Family
from penstock.placement.line import reservations
from penstock.placement.line.waiting import Lease, Reservation, Waiting
from penstock.placement.requests import Request
from penstock.placement.solving import screens

HEADS_MAX: Final = 32  # of a family: what is kept is minded by everyone behind
NOWHERE: Final = frozenset[str]()


@dataclass(frozen=True)
class Head:
    priority: int
    sites: frozenset[str]
    kept: Reservation


class Heads:
    """The heads of one round, as they have their turns."""

    def __init__(self, fleet: Fleet, waiting: Iterable[Waiting]) -> None:
        self._fleet = fleet
        self._heads: dict[str, list[Head]] = {}  # by family
        self._nodes: dict[str, tuple[str, ...]] = {}  # kept for them, by family
        self._earlier = {each.id: each for each in waiting if each.kept}  # without a turn so far
        self._spoken: dict[str, frozenset[str]] = {}  # sites, by family
        self._hopeless: set[Request] = set()  # no end of a lease would make room
        self._reached: dict[Request, frozenset[str]] = {}
        self._sites: dict[str, frozenset[str]] = {}  # by family

    def turn(self, waiting: Waiting) -> tuple[str, ...]:
        """It has its turn now: what is closed to it."""
        family = waiting.request.family
        kept = self._nodes.get(family, ())
        if not waiting.kept:
            return kept
        del self._earlier[waiting.id]
        others = (
            node
            for each in self._earlier.values()
            if each.priority == waiting.priority and each.request.family == family
            for node in each.kept
        )
        return tuple(dict.fromkeys((*kept, *others)))

    def met(self, request: Request) -> list[Reservation]:
        """What is kept for heads that speak for a site which the request could use."""
        heads = self._heads.get(request.family, ())
        return [head.kept for head in heads if head.sites & self._reach(request)]

    def keep(
        self,
        waiting: Waiting,
        closed: tuple[str, ...],
        leases: tuple[Lease, ...],
        now: datetime,
    ) -> Reservation | None:
        """It does not fit: the nodes where it will soonest, if it becomes a head."""
        request = waiting.request
        sites = self._unspoken(waiting)
        if not sites or request in self._hopeless:
            return None
        if sites != self._reach(request):
            request = replace(request, sites=tuple(sorted(sites)))
        near = tuple(lease for lease in leases if self._at(lease, request.family, sites))
        kept = reservations.reserve(outside(request, closed), self._fleet, near, now, waiting.kept)
        if kept is None:
            self._hopeless.add(waiting.request)
        else:
            self._add(request.family, Head(waiting.priority, self._reach(waiting.request), kept))
        return kept

    def _add(self, family: str, head: Head) -> None:
        self._heads.setdefault(family, []).append(head)
        self._nodes[family] = (*self._nodes.get(family, ()), *head.kept.nodes)
        self._spoken[family] = self._spoken.get(family, NOWHERE) | head.sites

    def _unspoken(self, waiting: Waiting) -> frozenset[str]:
        """The sites that it could use and for which no head speaks; none if there are too many."""
        request, heads = waiting.request, self._heads.get(waiting.request.family, ())
        if len(heads) >= HEADS_MAX:
            return NOWHERE
        spoken = self._spoken.get(request.family, NOWHERE)
        if waiting.kept:
            above = (head.sites for head in heads if head.priority > waiting.priority)
            spoken = NOWHERE.union(*above)
        if request.site_id in spoken or spoken == self._every(request.family):
            return NOWHERE
        return self._reach(request) - spoken

    def _every(self, name: str) -> frozenset[str]:
        """The sites of a family."""
        if name not in self._sites:
            family = self._fleet.family(name)
            known = (traits.site_id for traits in family.cohorts) if family else ()
            self._sites[name] = frozenset(known)
        return self._sites[name]

    def _reach(self, request: Request) -> frozenset[str]:
        known = self._reached.get(request)
        if known is None:
            family = self._fleet.asked(request).get(request.family)
            known = screens.sites(request, family) if family else NOWHERE
            self._reached[request] = known
        return known

    def _at(self, lease: Lease, name: str, sites: frozenset[str]) -> bool:
        family = self._fleet.family(name)
        return family is not None and any(
            _site(family, part.node_id) in sites for part in lease.parts
        )


def outside(request: Request, closed: tuple[str, ...]) -> Request:
    """The same, but for what is kept for others."""
    return replace(request, kept=closed) if closed else request


def _site(family: Family, node: str) -> str | None:
    row = family.rows.get(node)
    return row.cohort.traits.site_id if row else None
