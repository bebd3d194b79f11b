"""Defragmentation: which moves would open whole nodes, or room for larger slices.

Greedy, yard by yard: the node that is cheapest to open gives its leases to the fullest nodes
that can take them without a loss; where a lease finds no room, smaller ones make it for it.
Berths of one kind are alike, so what failed for one is not tried for the next. Every step is
made on paper in the order in which it would be made, so a move's slots are free at its turn.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from heapq import heapify, heappop, heappush
from typing import Final

from penstock.placement.defragmentation.moves import Gain, Lease, Move, MovePlan, Price, Target
from penstock.placement.defragmentation.shunting import Kind, Shunting, Step, worth
from penstock.placement.defragmentation.yards import Berth, Yard
from penstock.placement.kinds.cohorts import Traits
from penstock.placement.kinds.layouts import bits
from penstock.placement.requests import Shape

DEPTH_MAX: Final = 3  # smaller leases make room for larger ones, and so on
TRIES_MAX: Final = 8  # kinds of nodes in which room is tried to be made
SEARCHES_MAX: Final = 4096  # for room that has to be made; a plan without more is still a plan
PASSES_MAX: Final = 4


def plan(yards: Iterable[Yard], target: Target, price: Price | None = None) -> MovePlan:
    """The moves that open the most, and of those the cheapest that were found."""
    price = price or Price()
    moves: list[Move] = []
    opened: dict[Traits, int] = {}
    after: list[tuple[Berth, int]] = []
    for yard in yards:
        planner = Planner(Shunting(yard, target))
        gained = planner.run()
        moves += planner.moves()
        opened[yard.traits] = opened.get(yard.traits, 0) + gained
        after += [(p.berth, p.free.bit_count()) for p in planner.shunting.places.values()]
    gpus = sum(move.lease.gpus for move in moves)
    return MovePlan(
        target=target,
        moves=tuple(moves),
        cost_gpu_minutes=price.cost(gpus),
        disruption_gpu_minutes=price.disruption(gpus),
        opened={traits: gained for traits, gained in opened.items() if gained},
        gains=tuple(_gains(after)),
    )


class Planner:
    def __init__(self, shunting: Shunting) -> None:
        self.shunting = shunting
        self._searches = SEARCHES_MAX
        self._opens: list[tuple[int, str]] = []  # the steps up to here open that node

    def run(self) -> int:
        """How many more of the target fit now."""
        before = self.shunting.value()
        for _ in range(PASSES_MAX):
            if not self._pass():
                break
        return self.shunting.value() - before

    def moves(self) -> list[Move]:
        found: list[Move] = []
        done = 0
        for steps, opens in self._opens:
            found += [self._move(step, opens) for step in self.shunting.steps[done:steps]]
            done = steps
        return found

    def _move(self, step: Step, opens: str) -> Move:
        slot_ids = self.shunting.places[step.goal].berth.slot_ids
        return Move(step.lease, step.goal, tuple(slot_ids[n] for n in bits(step.goal_mask)), opens)

    def _pass(self) -> bool:
        """Open what can be opened, the cheapest first; whether anything was."""
        shunting, target = self.shunting, self.shunting.target
        failed: set[Kind] = set()
        queue = [
            (sum(sizes), id)
            for kind, ids in shunting.kinds.items()
            if (sizes := leaving(target, kind)) is not None
            for id in ids
        ]
        heapify(queue)
        begun = len(shunting.steps)
        while queue:
            cost, id = heappop(queue)
            kind = shunting.places[id].kind
            sizes = leaving(target, kind)
            if sizes is None or kind in failed:
                continue
            if sum(sizes) != cost:
                heappush(queue, (sum(sizes), id))
            elif self._clear(id, sizes, frozenset((id,)), 0):
                self._opens.append((len(shunting.steps), id))
                if (more := leaving(target, shunting.places[id].kind)) is not None:
                    heappush(queue, (sum(more), id))
            else:
                failed.add(kind)
        return len(shunting.steps) > begun

    def _clear(self, id: str, sizes: tuple[int, ...], avoid: frozenset[str], depth: int) -> bool:
        """Move leases of these sizes away from the node: all, or none."""
        shunting = self.shunting
        begun = len(shunting.steps)
        for size in sorted(sizes, reverse=True):
            leases = (lease for lease, _ in shunting.places[id].leases.values())
            lease = next(lease for lease in leases if lease.gpus == size)
            goal = shunting.hole(size, avoid) or self._make_room(lease, avoid, depth)
            if goal is None:
                shunting.back(begun)
                return False
            shunting.move(lease, id, goal)
        return True

    def _make_room(self, lease: Lease, avoid: frozenset[str], depth: int) -> str | None:
        """A place from which smaller leases moved away, so that this one fits."""
        if depth == DEPTH_MAX or lease.gpus == 1 or not self._searches:
            return None
        self._searches -= 1
        for kind, sizes in self._ways(lease.gpus):
            id = next((id for id in self.shunting.kinds.get(kind, ()) if id not in avoid), None)
            if id is not None and self._clear(id, sizes, avoid | {id}, depth + 1):
                return id
        return None

    def _ways(self, gpus: int) -> list[tuple[Kind, tuple[int, ...]]]:
        """Kinds of places, and what must leave them, the cheapest first."""
        target = self.shunting.target
        ways = [
            (sum(sizes), kind, sizes)
            for kind in self.shunting.kinds
            if (sizes := yielding(target, kind, gpus)) is not None
        ]
        return [(kind, sizes) for _, kind, sizes in sorted(ways)[:TRIES_MAX]]


@lru_cache(maxsize=1 << 16)
def leaving(target: Target, kind: Kind) -> tuple[int, ...] | None:
    """Which leases must leave such a place for one more of the target; None if it is no use."""
    if not kind.counts or not kind.sizes:
        return None
    if target.shape is Shape.BAREMETAL:
        return kind.sizes if kind.free + sum(kind.sizes) == kind.gpus else None
    lacking = target.gpus - kind.free % target.gpus
    smaller = tuple(size for size in kind.sizes if size < target.gpus)
    return next((sizes for total, sizes in sums(smaller) if total >= lacking), None)


@lru_cache(maxsize=1 << 16)
def yielding(target: Target, kind: Kind, gpus: int) -> tuple[int, ...] | None:
    """Which smaller leases must leave such a place so that one of so many GPUs takes nothing
    from what is to be opened."""
    if kind.closed:
        return None
    now = worth(target, kind.free, kind.gpus, kind.counts)
    smaller = tuple(size for size in kind.sizes if size < gpus)
    for total, sizes in sums(smaller):
        left = kind.free + total - gpus
        if left >= 0 and worth(target, left, kind.gpus, kind.counts) >= now:
            return sizes
    return None


@lru_cache(maxsize=1 << 16)
def sums(sizes: tuple[int, ...]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Every sum that some of the sizes make, ascending, with the fewest that make it."""
    found: dict[int, tuple[int, ...]] = {0: ()}
    for size in sizes:
        for total, chosen in list(found.items()):
            more = (*chosen, size)
            if total + size not in found or len(more) < len(found[total + size]):
                found[total + size] = more
    return tuple(sorted((total, chosen) for total, chosen in found.items() if total))


def _gains(after: list[tuple[Berth, int]]) -> Iterator[Gain]:
    """Of every size that a node of these could serve."""
    sizes = {berth.layout.gpus for berth, _ in after if berth.complete}
    for gpus in range(1, max((berth.layout.gpus for berth, _ in after), default=0) + 1):
        was = sum(berth.free.bit_count() // gpus for berth, _ in after)
        now = sum(free // gpus for _, free in after)
        yield Gain(Shape.GPU_SLICE, gpus, was, now)
    for gpus in sorted(sizes):
        alike = [(b, free) for b, free in after if b.complete and b.layout.gpus == gpus]
        was = sum(berth.free.bit_count() == gpus for berth, _ in alike)
        now = sum(free == gpus for _, free in alike)
        yield Gain(Shape.BAREMETAL, gpus, was, now)
