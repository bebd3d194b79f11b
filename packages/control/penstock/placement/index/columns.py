"""The facts about a family's nodes, a NumPy column for each and a row for each node."""

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.placement.nodes import Node

ROWS_MIN: Final = 16
T = TypeVar("T", bound=np.generic)


class Columns:
    """Grows by doubling, and widens when a node has more GPUs than any before it."""

    def __init__(self) -> None:
        self.free: NDArray[np.uint64] = np.zeros(ROWS_MIN, np.uint64)  # usable GPUs, as a mask
        self.cpu_milli: NDArray[np.int64] = np.zeros(ROWS_MIN, np.int64)
        self.memory_mib: NDArray[np.int64] = np.zeros(ROWS_MIN, np.int64)
        self.milli: NDArray[np.int16] = np.zeros((ROWS_MIN, 1), np.int16)  # free of each GPU

    def set(self, row: int, node: Node) -> None:
        self._fit(row, len(node.gpus))
        self.free[row] = sum(1 << n for n, slot in enumerate(node.gpus) if slot.usable)
        self.cpu_milli[row] = node.cpu_milli_free
        self.memory_mib[row] = node.memory_mib_free
        self.milli[row, : len(node.gpus)] = [
            slot.milli_free if slot.usable else 0 for slot in node.gpus
        ]

    def _fit(self, row: int, gpus: int) -> None:
        if row >= len(self.free):
            self.free = _double(self.free)
            self.cpu_milli = _double(self.cpu_milli)
            self.memory_mib = _double(self.memory_mib)
            self.milli = _double(self.milli)
        if (more := gpus - self.milli.shape[1]) > 0:
            self.milli = np.pad(self.milli, ((0, 0), (0, more)))


def _double(column: NDArray[T]) -> NDArray[T]:
    return np.concatenate([column, np.zeros_like(column)])
