"""How much of a divisible node's free GPU is likely to stay unused, by state.

A share goes where it raises this the least. Each term is a small named function over many
states at once; WEIGHTS is the policy. `fragments` alone is fragmentation gradient descent
(FGD, USENIX ATC '23).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.placement.divisible.workloads import Floats, Ints, View
from penstock.placement.nodes import WHOLE_MILLI


@dataclass(frozen=True)
class States:
    """What is left of nodes: a row each, `milli` with a column for each GPU."""

    cpu_milli: Ints
    memory_mib: Ints
    milli: Ints

    @property
    def total(self) -> Ints:
        return self.milli.sum(axis=1)


@dataclass(frozen=True)
class Weights:
    fragments: float = 1.0
    starved: float = 0.15
    scarcity: float = 0.5


def fragments(states: States, view: View) -> Floats:
    """The free GPU that the typical request cannot use, expected over requests."""
    total = states.total
    runs = (states.cpu_milli[:, None] >= view.cpu_milli) & (
        states.memory_mib[:, None] >= view.memory_mib
    )
    usable = np.where(view.divides, _in_parts(states, view), _in_wholes(states, view))
    return total - (runs * usable) @ view.weight


def starved(states: States, view: View) -> Floats:
    """The free GPU for which CPU or memory will lack, if the rest comes as the workload does."""
    fed = np.minimum(
        states.cpu_milli / view.cpu_per_milli, states.memory_mib / view.memory_per_milli
    )
    return np.maximum(0.0, states.total - fed)


Term = Callable[[States, View], Floats]
TERMS: Final[tuple[Term, ...]] = (fragments, starved)


def potential(states: States, view: View, weights: Weights) -> Floats:
    """In thousandths of a GPU."""
    worth = (weights.fragments, weights.starved)
    return sum(
        (weight * term(states, view) for weight, term in zip(worth, TERMS, strict=True) if weight),
        np.zeros(len(states.cpu_milli)),
    )


def _in_wholes(states: States, view: View) -> Ints:
    """All idle GPUs, if they are enough for the request."""
    idle = (states.milli == WHOLE_MILLI).sum(axis=1)
    return np.where(idle[:, None] >= view.gpus, WHOLE_MILLI * idle[:, None], 0)


def _in_parts(states: States, view: View) -> Ints:
    """What is left of each GPU that has room for the request."""
    roomy = states.milli[:, :, None] >= view.sizes
    return (states.milli[:, :, None] * roomy).sum(axis=1)[:, view.size]
