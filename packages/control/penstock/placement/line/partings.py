"""Partings: leases that must not share a node, in whatever order they are placed."""

from collections.abc import Iterable
from dataclasses import replace

from penstock.placement.line.waiting import Placement, Waiting


class Partings:
    """Of those in one round: both of a pair stay apart, whichever of them named the other."""

    def __init__(self, waiting: Iterable[Waiting]) -> None:
        self._pairs: dict[str, set[str]] = {}
        self._nodes: dict[str, list[str]] = {}  # where those went that it must stay apart from
        for each in waiting:
            for other in each.apart:
                self._pairs.setdefault(each.id, set()).add(other)
                self._pairs.setdefault(other, set()).add(each.id)

    def now(self, waiting: Waiting) -> Waiting:
        """Apart also from where others went in the meantime."""
        nodes = self._nodes.get(waiting.id)
        if not nodes:
            return waiting
        request = waiting.request
        apart_from = tuple(sorted({*request.apart_from, *nodes}))
        return replace(waiting, request=replace(request, apart_from=apart_from))

    def placed(self, placement: Placement) -> None:
        for other in self._pairs.get(placement.waiting.id, ()):
            self._nodes.setdefault(other, []).extend(placement.plan.node_ids)
