"""Whose turn it is: priority, then who has kept its turn, then fair share, then age."""

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from heapq import heapify, heappop, heappush

from penstock.placement.line.waiting import Holdings, Waiting


def order(waiting: Iterable[Waiting], holdings: Holdings) -> Iterator[Waiting]:
    """Each once. What the caller adds to `holdings` between two counts for the next one.

    High priority first. Within a priority: heads of earlier rounds, so that nothing placed
    behind a head can cost it its turn; then the tenant with the smallest share, and of a
    tenant's requests the oldest. Of those that came at the same time, the first given.
    """
    levels: dict[int, list[Waiting]] = {}
    for each in waiting:
        levels.setdefault(each.priority, []).append(each)
    for priority in sorted(levels, reverse=True):
        level = sorted(levels[priority], key=_age)
        yield from (each for each in level if each.kept)
        yield from _fairly([each for each in level if not each.kept], holdings)


def _age(waiting: Waiting) -> datetime:
    return waiting.queued_at


def _fairly(level: list[Waiting], holdings: Holdings) -> Iterator[Waiting]:
    lines: dict[str, deque[tuple[int, Waiting]]] = {}
    for place, each in enumerate(level):
        lines.setdefault(each.tenant, deque()).append((place, each))
    # A tenant's share changes only by its own turn, while it is not in the heap.
    next_up = [(holdings.share(tenant), line[0][0], tenant) for tenant, line in lines.items()]
    heapify(next_up)
    while next_up:
        _, _, tenant = heappop(next_up)
        yield lines[tenant].popleft()[1]
        if lines[tenant]:
            heappush(next_up, (holdings.share(tenant), lines[tenant][0][0], tenant))
