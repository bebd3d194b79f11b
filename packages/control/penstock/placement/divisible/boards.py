"""The states that a family's divisible nodes are in: NumPy columns, a row for each state."""

from typing import Final

import numpy as np

from penstock.placement.divisible.potentials import States
from penstock.placement.divisible.workloads import Ints
from penstock.placement.kinds.states import Divided
from penstock.placement.nodes import WHOLE_MILLI

ROWS_MIN: Final = 64


class Board:
    """`nodes` counts those in the state, 0 if the row is spare; `born` numbers its occupants."""

    def __init__(self) -> None:
        self.nodes: Ints = np.zeros(ROWS_MIN, np.int64)
        self.born: Ints = np.zeros(ROWS_MIN, np.int64)
        self.cpu_milli: Ints = np.zeros(ROWS_MIN, np.int64)
        self.memory_mib: Ints = np.zeros(ROWS_MIN, np.int64)
        self.gpus: Ints = np.zeros(ROWS_MIN, np.int64)
        self.milli: Ints = np.zeros((ROWS_MIN, 1), np.int64)  # descending; 0 beyond the GPUs
        self.states: list[Divided] = [Divided(0, 0, ())] * ROWS_MIN
        self.milli_free = 0
        self.milli_total = 0
        self.births = 0  # states that ever came up
        self._rows: dict[Divided, int] = {}
        self._spare = list(range(ROWS_MIN - 1, -1, -1))

    def __len__(self) -> int:
        return len(self.nodes)

    def add(self, state: Divided) -> None:
        row = self._rows.get(state)
        if row is None:
            row = self._rows[state] = self._settle(state)
        self._count(row, state, +1)

    def discard(self, state: Divided) -> None:
        row = self._rows[state]
        self._count(row, state, -1)
        if not self.nodes[row]:
            del self._rows[state]
            self._spare.append(row)

    def row(self, state: Divided) -> int:
        return self._rows[state]

    def pick(self, rows: Ints) -> States:
        return States(self.cpu_milli[rows], self.memory_mib[rows], self.milli[rows])

    def _count(self, row: int, state: Divided, by: int) -> None:
        self.nodes[row] += by
        self.milli_free += by * sum(state.milli)
        self.milli_total += by * WHOLE_MILLI * len(state.milli)

    def _settle(self, state: Divided) -> int:
        if not self._spare:
            self._grow()
        if (more := len(state.milli) - self.milli.shape[1]) > 0:
            self.milli = np.pad(self.milli, ((0, 0), (0, more)))
        row = self._spare.pop()
        self.births += 1
        self.born[row] = self.births
        self.cpu_milli[row], self.memory_mib[row] = state.cpu_milli, state.memory_mib
        self.gpus[row] = len(state.milli)
        self.milli[row] = 0
        self.milli[row, : len(state.milli)] = state.milli
        self.states[row] = state
        return row

    def _grow(self) -> None:
        old = len(self)
        for name in ("nodes", "born", "cpu_milli", "memory_mib", "gpus", "milli"):
            column: Ints = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros_like(column)]))
        self.states += [Divided(0, 0, ())] * old
        self._spare = list(range(2 * old - 1, old - 1, -1))
