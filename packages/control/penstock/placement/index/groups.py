"""Nodes of one cohort in one state, and the index that finds them."""

from collections.abc import Collection, Hashable, Iterator
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from penstock.placement.kinds.cohorts import Cohort

S = TypeVar("S", bound=Hashable)


class Group:
    """A set of node ids whose least is found at once.

    The heap may hold ids that left; they go when they surface, or when they are too many.
    """

    __slots__ = ("_heap", "_members")

    def __init__(self) -> None:
        self._heap: list[str] = []
        self._members: set[str] = set()

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __contains__(self, id: str) -> bool:
        return id in self._members

    def add(self, id: str) -> None:
        self._members.add(id)
        heappush(self._heap, id)
        if len(self._heap) > 2 * len(self._members) + 64:
            self._heap = list(self._members)
            heapify(self._heap)

    def discard(self, id: str) -> None:
        self._members.discard(id)

    def first(self, apart_from: Collection[str] = ()) -> str | None:
        """The least id that is not among those to stay apart from."""
        passed: list[str] = []
        found = None
        while self._heap and found is None:
            least = self._heap[0]
            if least not in self._members:
                heappop(self._heap)
            elif least in apart_from:
                passed.append(heappop(self._heap))
            else:
                found = least
        for id in passed:
            heappush(self._heap, id)
        return found

    def least(self, count: int, apart_from: Collection[str] = ()) -> list[str]:
        """The least ids, in order, that are not among those to stay apart from."""
        kept: list[str] = []
        found: list[str] = []
        while self._heap and len(found) < count:
            id = heappop(self._heap)
            # One that left and came back is there twice.
            if id in self._members and (not kept or kept[-1] != id):
                kept.append(id)
                found += [] if id in apart_from else [id]
        for id in kept:
            heappush(self._heap, id)
        return found


class Index(Generic[S]):
    """Which nodes are in which state."""

    def __init__(self) -> None:
        self.live: dict[S, dict[Cohort, Group]] = {}

    def add(self, id: str, cohort: Cohort, state: S) -> None:
        groups = self.live.setdefault(state, {})
        if cohort not in groups:
            groups[cohort] = Group()
        groups[cohort].add(id)

    def discard(self, id: str, cohort: Cohort, state: S) -> None:
        group = self.live[state][cohort]
        group.discard(id)
        if not group:
            del self.live[state][cohort]
            if not self.live[state]:
                del self.live[state]
