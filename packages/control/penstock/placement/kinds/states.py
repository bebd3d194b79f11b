"""The states that nodes are in, and how good a state is for a request.

Nodes in the same state are alike to the solver, so it judges states, of which there are
few, and not nodes, of which there are many. Each score is a small named function, and the
order of SCORES is their rank: lower is better, the first difference decides.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from penstock.placement.kinds import layouts
from penstock.placement.kinds.layouts import Pool
from penstock.placement.requests import Shape, Strategy


class State(NamedTuple):
    """Of a node that is not divided."""

    gpus: int
    approved: int
    complete: bool  # the chassis and every GPU are approved
    whole: bool  # complete, and all of it is free
    pools: tuple[Pool, ...]
    free: int  # GPUs in all pools; none while the whole node is held


class Divided(NamedTuple):
    """Of a divisible node: what is left of it. `milli` is in descending order."""

    cpu_milli: int
    memory_mib: int
    milli: tuple[int, ...]


class Kind(NamedTuple):
    """All that a score may know of a request."""

    shape: Shape
    gpus: int
    strategy: Strategy


def large_enough(kind: Kind, state: State) -> bool:
    if kind.shape is Shape.BAREMETAL:
        return state.complete and state.gpus == kind.gpus
    return state.approved >= kind.gpus


def free_enough(kind: Kind, state: State) -> bool:
    return state.whole if kind.shape is Shape.BAREMETAL else state.free >= kind.gpus


def fits(kind: Kind, state: State) -> bool:
    return large_enough(kind, state) and free_enough(kind, state)


def crowding(kind: Kind, state: State) -> int:
    """Spread: how much of the node is held already."""
    return state.gpus - state.free if kind.strategy is Strategy.SPREAD else 0


def breaks_a_whole_node(kind: Kind, state: State) -> int:
    return int(state.whole and kind.shape is Shape.GPU_SLICE)


def numa_nodes(kind: Kind, state: State) -> int:
    """How many NUMA nodes the GPUs will lie on."""
    return len(layouts.used(state.pools, kind.gpus))


def leftover(kind: Kind, state: State) -> int:
    """How many GPUs stay free: the fewer, the less is left that only little fits into."""
    return state.free - kind.gpus


def shared_devices(kind: Kind, state: State) -> int:
    """How many of the GPUs will lack a fabric device of their own."""
    own = sum(pool.devices for pool in layouts.used(state.pools, kind.gpus))
    return max(0, kind.gpus - own)


def scatter(kind: Kind, state: State) -> int:
    """On how many NUMA nodes the leftover lies."""
    used = layouts.used(state.pools, kind.gpus)
    return len(state.pools) - len(used) + (sum(pool.free for pool in used) > kind.gpus)


Score = Callable[[Kind, State], int]
SCORES: Final[tuple[Score, ...]] = (
    crowding,
    breaks_a_whole_node,
    numa_nodes,
    leftover,
    shared_devices,
    scatter,
)


def score(kind: Kind, state: State) -> tuple[int, ...]:
    return tuple(rate(kind, state) for rate in SCORES)
