"""How much could be allocated at most, whatever the policy, even one that may turn pods away.

Each bound relaxes the problem to one fractional knapsack, and the least of them holds:
- CPU or memory of the whole fleet;
- GPUs, where a pod counts by a dual feasible function of its share: one under which pods that
  fit into one GPU together never count for more than one GPU (Fekete and Schepers, 2001);
- the same outside any set of models, which is taken to be full, with the pods that may run
  outside it.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from openb.trace import Machine, Pod, capacity_milli

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MODELS_MAX: Final = 8  # beyond that, only sets of up to two models are tried
STEPS_MAX: Final = 12


class Demand:
    """What arrived, a row for each kind of pod that has GPUs."""

    def __init__(self, arrived: list[Pod]) -> None:
        counts = Counter(pod for pod in arrived if pod.gpus)
        self.pods = list(counts)
        self.count: Ints = np.array([counts[pod] for pod in self.pods])
        self.gpus: Ints = np.array([pod.gpus for pod in self.pods])
        self.milli: Ints = np.array([pod.milli for pod in self.pods])
        self.value: Ints = self.count * self.gpus * self.milli

    def times(self, amounts: list[int]) -> Ints:
        return self.count * np.array(amounts)


def bound_milli(nodes: list[Machine], arrived: list[Pod]) -> float:
    demand = Demand(arrived)
    cpu = demand.times([pod.cpu_milli for pod in demand.pods])
    memory = demand.times([pod.memory_mib for pod in demand.pods])
    return min(
        _knapsack(demand.value, cpu, sum(node.cpu_milli for node in nodes)),
        _knapsack(demand.value, memory, sum(node.memory_mib for node in nodes)),
        *(_outside(nodes, demand, frozenset(full)) for full in _subsets(nodes)),
    )


def _subsets(nodes: list[Machine]) -> "chain[tuple[str, ...]]":
    models = sorted({node.model for node in nodes if node.gpus})
    widest = len(models) if len(models) <= MODELS_MAX else 2
    return chain.from_iterable(combinations(models, width) for width in range(widest + 1))


def _outside(nodes: list[Machine], demand: Demand, full: frozenset[str]) -> float:
    """The full models hold all they can; the others, what may run there."""
    inside = capacity_milli([node for node in nodes if node.model in full])
    able = np.array([not pod.models or bool(set(pod.models) - full) for pod in demand.pods])
    value, count = demand.value[able], (demand.count * demand.gpus)[able]
    room = capacity_milli(nodes) - inside
    return inside + min(
        _knapsack(value, count * counted, room) for counted in _countings(demand.milli[able])
    )


def _countings(milli: Ints) -> Iterator[Floats]:
    """What shares count for, in milli-GPU, by one dual feasible function after another."""
    thresholds = sorted({0, *(1001 - int(m) for m in np.unique(milli) if 500 < m < 1000)})
    for small in thresholds:
        rounded = np.where(milli > 1000 - small, 1000, np.where(milli < small, 0, milli))
        yield rounded.astype(np.float64)
        for steps in range(1, STEPS_MAX + 1):
            exact = (steps + 1) * rounded % 1000 == 0
            yield np.where(exact, rounded, (steps + 1) * rounded // 1000 * 1000 / steps)


def _knapsack(value: Ints, weight: Ints | Floats, room: int) -> float:
    """The most value that fits, if pods could be cut."""
    order = np.argsort(weight / np.maximum(value, 1), kind="stable")
    weighed = weight[order]
    before = np.cumsum(weighed) - weighed
    taken = np.clip((room - before) / np.maximum(weighed, 1e-9), 0.0, 1.0)
    return float(value[order] @ taken)
