"""The simple policies that ours is measured beside. Each rates all nodes; lower is better."""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from openb.trace import Machine, Pod

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Rival:
    """Keeps what is left of every node; a shared GPU is the fullest that has room."""

    def __init__(self, nodes: list[Machine], rate: "Rate", seed: int) -> None:
        width = max(node.gpus for node in nodes)
        self.cpu: Ints = np.array([node.cpu_milli for node in nodes])
        self.memory: Ints = np.array([node.memory_mib for node in nodes])
        self.gpus: Ints = np.array([node.gpus for node in nodes])
        self.milli: Ints = np.where(np.arange(width) < self.gpus[:, None], 1000, 0)
        self.most = np.array([self.cpu.max(), self.memory.max(), 1000 * width])
        self.random = np.random.default_rng(seed)
        self._models = np.array([node.model for node in nodes])
        self._rate = rate
        self._allowed: dict[tuple[str, ...], NDArray[np.bool_]] = {}

    def place(self, pod: Pod) -> bool:
        fitting = np.flatnonzero(self._fits(pod))
        if not len(fitting):
            return False
        self._take(pod, int(fitting[np.argmin(self._rate(self, pod, fitting))]))
        return True

    def _fits(self, pod: Pod) -> NDArray[np.bool_]:
        if pod.models not in self._allowed:
            every = np.ones(len(self.cpu), np.bool_)
            self._allowed[pod.models] = np.isin(self._models, pod.models) if pod.models else every
        fits = self._allowed[pod.models] & (self.cpu >= pod.cpu_milli)
        fits &= self.memory >= pod.memory_mib
        return fits & ((self.milli >= max(1, pod.milli)).sum(axis=1) >= pod.gpus)

    def _take(self, pod: Pod, node: int) -> None:
        self.cpu[node] -= pod.cpu_milli
        self.memory[node] -= pod.memory_mib
        room = np.flatnonzero(self.milli[node] >= max(1, pod.milli))
        fullest = room[np.argsort(self.milli[node][room], kind="stable")][: pod.gpus]
        self.milli[node][fullest] -= pod.milli

    def free(self, nodes: Ints) -> Floats:
        """CPU, memory and GPU left, each as a share of the largest node's."""
        left = (self.cpu[nodes], self.memory[nodes], self.milli[nodes].sum(axis=1))
        return np.stack(left, axis=1) / self.most


def bestfit(rival: Rival, _pod: Pod, nodes: Ints) -> Floats:
    """The node with the least left."""
    return rival.free(nodes).sum(axis=1)


def dotprod(rival: Rival, pod: Pod, nodes: Ints) -> Floats:
    """The node whose rest, times what is asked, is the least."""
    asked = np.array([pod.cpu_milli, pod.memory_mib, pod.milli_total]) / rival.most
    return rival.free(nodes) @ asked


def packing(rival: Rival, pod: Pod, nodes: Ints) -> Floats:
    """GPUs in use first, then idle ones of nodes in use, then idle nodes; the fewest idle."""
    milli = rival.milli[nodes]
    in_use = ((milli >= max(1, pod.milli)) & (milli < 1000)).any(axis=1) & (pod.milli < 1000)
    idle = (milli == 1000).sum(axis=1)
    tier = np.where(in_use, 0, np.where(idle < rival.gpus[nodes], 1, 2))
    return tier * 100.0 + idle


def random(rival: Rival, _pod: Pod, nodes: Ints) -> Floats:
    return rival.random.random(len(nodes))


Rate = Callable[[Rival, Pod, Ints], Floats]
RATES: Final[dict[str, Rate]] = {
    "bestfit": bestfit,
    "dotprod": dotprod,
    "packing": packing,
    "random": random,
}
