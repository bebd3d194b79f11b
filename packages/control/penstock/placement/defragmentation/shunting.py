"""A yard while leases are moved in it on paper: where there is room, and a way back."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeVar

from penstock.placement.defragmentation.moves import Lease, Target
from penstock.placement.defragmentation.yards import Berth, Yard
from penstock.placement.requests import Shape

K = TypeVar("K", bound=Hashable)


class Kind(NamedTuple):
    """Berths of one kind are alike to the planner. `sizes`: of the leases that may still move."""

    free: int
    gpus: int
    counts: bool  # what is free here can become what is to be opened
    closed: bool
    sizes: tuple[int, ...]


class Hole(NamedTuple):
    free: int
    gpus: int
    counts: bool


class Step(NamedTuple):
    lease: Lease
    source: str
    source_mask: int
    goal: str
    goal_mask: int


@dataclass(slots=True)
class Place:
    berth: Berth
    counts: bool
    free: int
    leases: dict[str, tuple[Lease, int]]  # those that have not moved yet
    kind: Kind


class Shunting:
    def __init__(self, yard: Yard, target: Target) -> None:
        self.target = target
        self.steps: list[Step] = []
        self.kinds: dict[Kind, dict[str, None]] = {}
        self.holes: dict[Hole, dict[str, None]] = {}
        self.places: dict[str, Place] = {}
        for berth in yard.berths:
            counts = _counts(target, berth)
            leases = {lease.id: (lease, mask) for lease, mask in berth.leases}
            place = Place(berth, counts, berth.free, leases, Kind(0, 0, False, True, ()))
            self.places[berth.node_id] = place
            self._enter(place)

    def value(self) -> int:
        """How many of the target fit."""
        return sum(worth(self.target, *hole) * len(ids) for hole, ids in self.holes.items())

    def hole(self, gpus: int, avoid: frozenset[str]) -> str | None:
        """The tightest place for so many GPUs that takes nothing from what is to be opened."""
        best: tuple[tuple[bool, int], str] | None = None
        for hole, ids in self.holes.items():
            rank = (hole.counts, hole.free)
            if hole.free < gpus or (best is not None and rank >= best[0]):
                continue
            if spares(self.target, hole, gpus):
                found = next((id for id in ids if id not in avoid), None)
                best = best if found is None else (rank, found)
        return best[1] if best else None

    def move(self, lease: Lease, source: str, goal: str) -> None:
        from_, to = self.places[source], self.places[goal]
        goal_mask = to.berth.layout.choose(to.free, lease.gpus)
        source_mask = from_.leases[lease.id][1]
        self._leave(from_)
        self._leave(to)
        del from_.leases[lease.id]
        from_.free |= source_mask
        to.free &= ~goal_mask
        self._enter(from_)
        self._enter(to)
        self.steps.append(Step(lease, source, source_mask, goal, goal_mask))

    def back(self, steps: int) -> None:
        """As it was when only so many steps had been made."""
        while len(self.steps) > steps:
            lease, source, source_mask, goal, goal_mask = self.steps.pop()
            from_, to = self.places[source], self.places[goal]
            self._leave(from_)
            self._leave(to)
            from_.leases[lease.id] = (lease, source_mask)
            from_.free &= ~source_mask
            to.free |= goal_mask
            self._enter(from_)
            self._enter(to)

    def _enter(self, place: Place) -> None:
        free = place.free.bit_count()
        gpus = place.berth.layout.gpus
        sizes = tuple(sorted(lease.gpus for lease, _ in place.leases.values()))
        place.kind = Kind(free, gpus, place.counts, place.berth.closed, sizes)
        id = place.berth.node_id
        self.kinds.setdefault(place.kind, {})[id] = None
        if not place.berth.closed:
            self.holes.setdefault(Hole(free, gpus, place.counts), {})[id] = None

    def _leave(self, place: Place) -> None:
        id, kind = place.berth.node_id, place.kind
        _drop(self.kinds, kind, id)
        if not kind.closed:
            _drop(self.holes, Hole(kind.free, kind.gpus, kind.counts), id)


def worth(target: Target, free: int, gpus: int, counts: bool) -> int:
    """How many of the target fit into a place."""
    if not counts:
        return 0
    return int(free == gpus) if target.shape is Shape.BAREMETAL else free // target.gpus


@lru_cache(maxsize=1 << 16)
def spares(target: Target, hole: Hole, gpus: int) -> bool:
    """Whether so many GPUs of it can be taken without a loss."""
    left = hole.free - gpus
    return left >= 0 and worth(target, left, *hole[1:]) == worth(target, *hole)


def _counts(target: Target, berth: Berth) -> bool:
    if target.shape is Shape.GPU_SLICE:
        return True
    return berth.complete and not berth.held and berth.layout.gpus == target.gpus


def _drop(index: dict[K, dict[str, None]], key: K, id: str) -> None:
    del index[key][id]
    if not index[key]:
        del index[key]
