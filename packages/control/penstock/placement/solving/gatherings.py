"""Whole nodes of one site, gathered into gangs leaf by leaf.

Leaves are chosen by how many nodes they hold; only the nodes of those that are chosen are
looked at.
"""

from collections.abc import Iterator, Set
from heapq import merge
from itertools import combinations
from typing import NamedTuple

from penstock.placement.index.leaves import Leaves, Sizes


class Gang(NamedTuple):
    """The order of its fields is the order in which gangs are preferred."""

    leaves: int
    leftover: int  # whole nodes that stay on the last leaf
    site_id: str
    node_ids: tuple[str, ...]


class Pick(NamedTuple):
    """A leaf that may be chosen; without a name, a node that stands alone."""

    size: int
    first: str  # the least of its nodes
    leaf: str


class Gathering:
    """A leaf on which several cohorts have nodes, or with nodes to be avoided, is mixed: it is
    counted anew. All others are as their cohort ranks them."""

    def __init__(self, site_id: str) -> None:
        self.site_id = site_id
        self._cohorts: list[Leaves] = []
        self._avoided: dict[str, str] = {}  # node → leaf

    def add(self, leaves: Leaves) -> None:
        self._cohorts.append(leaves)

    def avoid(self, leaf: str, id: str) -> None:
        if any(each.holds(leaf, id) for each in self._cohorts):
            self._avoided[id] = leaf

    def __len__(self) -> int:
        return sum(map(len, self._cohorts)) - len(self._avoided)

    def gather(self, nodes: int) -> Gang:
        """The largest leaves first, and last the tightest that completes the gang."""
        sources = self._sources(nodes)
        largest = merge(*(_descending(sizes, but) for sizes, but in sources))
        chosen: list[str] = []
        used: set[tuple[str, str]] = set()
        while nodes - len(chosen) > -(least := next(largest))[0]:
            _, first, leaf = least
            chosen += self._members(first, leaf)
            used.add((first, leaf))
        left = nodes - len(chosen)
        tightest = (_tightest(sizes, but, used, left) for sizes, but in sources)
        last = min(pick for pick in tightest if pick is not None)
        rest = self._members(last.first, last.leaf)[:left]
        return Gang(len(used) + 1, last.size - left, self.site_id, (*chosen, *rest))

    def _sources(self, nodes: int) -> list[tuple[Sizes, Set[str]]]:
        """Leaves by size, each with the leaves of it that are counted elsewhere."""
        mixed = self._mixed()
        ranked: list[tuple[Sizes, Set[str]]] = [(each.by_size(), mixed) for each in self._cohorts]
        return [*ranked, (self._counted(mixed), frozenset()), (self._alone(nodes), frozenset())]

    def _mixed(self) -> set[str]:
        found = {leaf for leaf in self._avoided.values() if leaf}
        for one, other in combinations(self._cohorts, 2):
            found |= one.on.keys() & other.on.keys()
        return found

    def _counted(self, mixed: Set[str]) -> Sizes:
        sizes: Sizes = {}
        for leaf in mixed:
            groups = [each.on[leaf] for each in self._cohorts if leaf in each.on]
            firsts = [least[0] for group in groups if (least := group.least(1, self._avoided))]
            if firsts:
                size = sum(map(len, groups)) - list(self._avoided.values()).count(leaf)
                sizes.setdefault(size, []).append((min(firsts), leaf))
        for ranked in sizes.values():
            ranked.sort()
        return sizes

    def _alone(self, nodes: int) -> Sizes:
        """One more than may be used up before the last."""
        ids = merge(*(each.alone.least(nodes, self._avoided) for each in self._cohorts))
        ranked = [(id, "") for id in ids]
        return {1: ranked} if ranked else {}

    def _members(self, first: str, leaf: str) -> list[str]:
        if not leaf:
            return [first]
        groups = [each.on[leaf] for each in self._cohorts if leaf in each.on]
        return sorted(id for group in groups for id in group if id not in self._avoided)


def _descending(sizes: Sizes, but: Set[str]) -> Iterator[tuple[int, str, str]]:
    """The largest first, its size negated; of equal ones, the one with the least node."""
    for size in sorted(sizes, reverse=True):
        yield from ((-size, first, leaf) for first, leaf in sizes[size] if leaf not in but)


def _tightest(sizes: Sizes, but: Set[str], used: Set[tuple[str, str]], left: int) -> Pick | None:
    """The smallest unused leaf that holds so many."""
    return next(
        (
            Pick(size, first, leaf)
            for size in sorted(size for size in sizes if size >= left)
            for first, leaf in sizes[size]
            if leaf not in but and (first, leaf) not in used
        ),
        None,
    )
