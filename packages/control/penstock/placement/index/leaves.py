"""Whole nodes of one cohort and one size, by the fabric leaf they are on.

Leaves are ranked when a gang is asked for, and then only those that changed since the last one.
"""

from bisect import bisect_left, insort

from penstock.placement.index.groups import Group

# Of leaves that hold equally many: their least node and their name, in order.
Ranked = list[tuple[str, str]]
Sizes = dict[int, Ranked]


class Leaves:
    """`alone` are nodes without a known leaf; each stands for itself."""

    def __init__(self) -> None:
        self.alone = Group()
        self.on: dict[str, Group] = {}
        self._size = 0
        self._changed: set[str] = set()
        self._places: dict[str, tuple[int, str]] = {}  # leaf → its size and least node, as ranked
        self._sizes: Sizes = {}

    def __len__(self) -> int:
        return self._size

    def holds(self, leaf: str, id: str) -> bool:
        return id in (self.on.get(leaf, ()) if leaf else self.alone)

    def add(self, leaf: str, id: str) -> None:
        self._size += 1
        if not leaf:
            self.alone.add(id)
            return
        if leaf not in self.on:
            self.on[leaf] = Group()
        self.on[leaf].add(id)
        self._changed.add(leaf)

    def discard(self, leaf: str, id: str) -> None:
        self._size -= 1
        if not leaf:
            self.alone.discard(id)
            return
        self.on[leaf].discard(id)
        if not self.on[leaf]:
            del self.on[leaf]
        self._changed.add(leaf)

    def by_size(self) -> Sizes:
        """By how many nodes it holds: every leaf, the one with the least node first."""
        for leaf in self._changed:
            self._forget(leaf)
            if group := self.on.get(leaf):
                size, first = self._places[leaf] = len(group), group.least(1)[0]
                insort(self._sizes.setdefault(size, []), (first, leaf))
        self._changed.clear()
        return self._sizes

    def _forget(self, leaf: str) -> None:
        place = self._places.pop(leaf, None)
        if place is not None:
            size, first = place
            ranked = self._sizes[size]
            del ranked[bisect_left(ranked, (first, leaf))]
            if not ranked:
                del self._sizes[size]
