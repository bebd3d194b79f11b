"""What each kind of share costs on a node in each state, remembered.

A placement makes one state appear and one go, so almost every cost is known from before.
"""

from typing import Final

import numpy as np

from penstock.placement.divisible.boards import Board
from penstock.placement.divisible.potentials import States, Weights, potential
from penstock.placement.divisible.workloads import Amounts, Floats, Ints, View, Workload
from penstock.placement.nodes import WHOLE_MILLI

KINDS_MAX: Final = 512
CHUNK: Final = 256  # states judged at once, so that memory stays bounded


class Known:
    """One kind's costs by row of the board; infinite where it does not fit.

    `pick` is how much was free of the GPU that it would share.
    """

    def __init__(self, rows: int) -> None:
        self.births = -1  # of the board, when it was last brought up to date
        self.born: Ints = np.full(rows, -1, np.int64)
        self.cost: Floats = np.full(rows, np.inf)
        self.pick: Ints = np.zeros(rows, np.int64)

    def fit(self, rows: int) -> None:
        if (lacking := rows - len(self.born)) > 0:
            more = Known(lacking)
            self.born = np.concatenate([self.born, more.born])
            self.cost = np.concatenate([self.cost, more.cost])
            self.pick = np.concatenate([self.pick, more.pick])


class Costs:
    """Of one family, by a workload as the family sees it."""

    def __init__(self) -> None:
        self.view: View = Workload(()).view("")
        self._weights = Weights()
        self._known: dict[Amounts, Known] = {}

    def declare(self, view: View, weights: Weights) -> None:
        self.view, self._weights = view, weights
        self._known.clear()

    def of(self, what: Amounts, board: Board) -> Known:
        """The kind's costs, brought up to date with the states on the board."""
        known = self._known.get(what)
        if known is None:
            if len(self._known) >= KINDS_MAX:
                self._known.clear()
            known = self._known[what] = Known(len(board))
        if known.births == board.births:
            return known
        known.births = board.births
        known.fit(len(board))
        stale = np.flatnonzero((board.nodes > 0) & (known.born != board.born))
        for start in range(0, len(stale), CHUNK):
            self._judge(what, board, known, stale[start : start + CHUNK])
        return known

    def leftover(self, what: Amounts, board: Board, rows: Ints) -> Floats:
        """What would be left of the node, all of it told in thousandths of a GPU."""
        cpu = (board.cpu_milli[rows] - what.cpu_milli) / self.view.cpu_per_milli
        memory = (board.memory_mib[rows] - what.memory_mib) / self.view.memory_per_milli
        return cpu + memory + board.milli[rows].sum(axis=1)

    def _judge(self, what: Amounts, board: Board, known: Known, rows: Ints) -> None:
        known.born[rows] = board.born[rows]
        known.cost[rows] = np.inf
        before = board.pick(rows)
        fitting = rows[fits(what, before)]
        if not len(fitting):
            return
        before = board.pick(fitting)
        which, picked, after = options(what, before)
        costs = (
            potential(after, self.view, self._weights)
            - potential(before, self.view, self._weights)[which]
        )
        # The cheapest option of each state; among equals the fullest GPU.
        order = np.lexsort((picked, np.round(costs, 6), which))
        best = order[np.unique(which[order], return_index=True)[1]]
        known.cost[fitting] = costs[best]
        known.pick[fitting] = picked[best]


def fits(what: Amounts, states: States) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    enough = (states.cpu_milli >= what.cpu_milli) & (states.memory_mib >= what.memory_mib)
    return enough & ((states.milli >= max(1, what.milli)).sum(axis=1) >= what.gpus)


def options(what: Amounts, states: States) -> tuple[Ints, Ints, States]:
    """For each way to place the share: the state, what was free of its GPU, what stays."""
    rows, width = states.milli.shape
    if what.gpus == 1 and what.milli < WHOLE_MILLI:
        unlike = np.ones((rows, width), np.bool_)
        unlike[:, 1:] = states.milli[:, 1:] != states.milli[:, :-1]
        which, gpu = np.nonzero(unlike & (states.milli >= what.milli))
        milli = states.milli[which]
        picked = milli[np.arange(len(which)), gpu]
        milli[np.arange(len(which)), gpu] -= what.milli
    else:
        which: Ints = np.arange(rows, dtype=np.int64)
        milli = states.milli.copy()
        picked = np.full(rows, WHOLE_MILLI)
        milli[:, : what.gpus] = 0  # in descending order, so these are the idle ones
    cpu = states.cpu_milli[which] - what.cpu_milli
    return which, picked, States(cpu, states.memory_mib[which] - what.memory_mib, milli)
