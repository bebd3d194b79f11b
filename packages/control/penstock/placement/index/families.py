"""The nodes of one GPU family: their facts by row, their cohorts, and the index of states."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from penstock.placement.divisible.boards import Board
from penstock.placement.divisible.costs import Costs
from penstock.placement.index.columns import Columns
from penstock.placement.index.groups import Index
from penstock.placement.index.leaves import Leaves
from penstock.placement.kinds import layouts
from penstock.placement.kinds.cohorts import Cohort, Screen, Traits
from penstock.placement.kinds.layouts import Layout
from penstock.placement.kinds.states import Divided, Kind, State, fits, score
from penstock.placement.nodes import Node
from penstock.placement.plans import Part

KNOWN_MAX: Final = 4096


@dataclass(slots=True)
class Row:
    """What of a node is no number, or never changes while it is known."""

    number: int
    chassis_id: str
    slot_ids: tuple[str, ...]
    layout: Layout
    approved: int
    complete: bool
    chassis_free: bool
    leaf: str
    cohort: Cohort
    state: State | Divided


class Family:
    def __init__(self) -> None:
        self.columns = Columns()
        self.rows: dict[str, Row] = {}
        self.cohorts: dict[Traits, Cohort] = {}
        self.undivided: Index[State] = Index()
        self.divided: Index[Divided] = Index()
        self.wholes: dict[tuple[Cohort, int], Leaves] = {}  # by the GPUs of each node
        self.sizes: dict[int, int] = {}  # GPUs of a node → nodes
        self.screens: dict[object, Screen] = {}  # valid until cohorts change their size
        self.board = Board()
        self.costs = Costs()
        self._spare: list[int] = []
        self._known: set[State] = set()
        self._rankings: dict[Kind, list[tuple[tuple[int, ...], State]]] = {}

    def put(self, node: Node) -> None:
        old = self.rows.get(node.id)
        if old is not None:
            self._unindex(node.id, old)
        number = old.number if old else self._spare.pop() if self._spare else len(self.rows)
        self.columns.set(number, node)
        self.rows[node.id] = row = self._row(number, node)
        if old is None or (old.cohort, old.layout.gpus) != (row.cohort, row.layout.gpus):
            if old is not None:
                self._count(old, -1)
            self._count(row, +1)
        self._index(node.id, row)

    def drop(self, id: str) -> None:
        row = self.rows.pop(id)
        self._unindex(id, row)
        self._count(row, -1)
        self._spare.append(row.number)

    def holds(self, part: Part) -> bool:
        """Whether all that the part names is held here now."""
        row = self.rows.get(part.node_id)
        if row is None or row.cohort.traits.divisible:
            return False
        free = self.columns.free.item(row.number)
        return all(
            not row.chassis_free
            if slot_id == row.chassis_id
            else slot_id in row.slot_ids and not free >> row.slot_ids.index(slot_id) & 1
            for slot_id in part.slot_ids
        )

    def turn(self, part: Part, *, free: bool) -> None:
        """What the part names is free, or held, from now on."""
        row = self.rows[part.node_id]
        self._unindex(part.node_id, row)
        gpus = 0
        for slot_id in part.slot_ids:
            if slot_id == row.chassis_id:
                row.chassis_free = free
            else:
                gpus |= 1 << row.slot_ids.index(slot_id)
        if row.cohort.traits.divisible:
            self._share(row, part, 1 if free else -1)
            gpus = 0
        self._settle(part.node_id, row, gpus, free=free)

    def _share(self, row: Row, part: Part, sign: int) -> None:
        columns, number = self.columns, row.number
        for slot_id in part.slot_ids:
            if slot_id != row.chassis_id:
                columns.milli[number, row.slot_ids.index(slot_id)] += sign * part.milli
        columns.cpu_milli[number] += sign * part.cpu_milli
        columns.memory_mib[number] += sign * part.memory_mib

    def _settle(self, id: str, row: Row, gpus: int, *, free: bool) -> None:
        """These GPUs, as a mask, are free or held from now on; its new state is indexed."""
        if gpus:
            before: int = self.columns.free.item(row.number)
            self.columns.free[row.number] = before | gpus if free else before & ~gpus
        row.state = self._state(row)
        self._index(id, row)

    def ranking(self, kind: Kind) -> list[tuple[tuple[int, ...], State]]:
        """Every state that fits requests of this kind, best first."""
        if kind not in self._rankings:
            fitting = [state for state in self._known if fits(kind, state)]
            self._rankings[kind] = sorted((score(kind, state), state) for state in fitting)
        return self._rankings[kind]

    def _row(self, number: int, node: Node) -> Row:
        traits = Traits.of(node)
        cohort = self.cohorts.get(traits) or Cohort(traits)
        approved = sum(slot.approved for slot in node.gpus)
        row = Row(
            number=number,
            chassis_id=node.chassis.id,
            slot_ids=tuple(slot.id for slot in node.gpus),
            layout=layouts.of(node.gpus),
            approved=approved,
            complete=node.chassis.approved and approved == len(node.gpus),
            chassis_free=node.chassis.free,
            leaf=node.leaf,
            cohort=cohort,
            state=_EMPTY,
        )
        row.state = self._state(row)
        return row

    def _state(self, row: Row) -> State | Divided:
        columns, number = self.columns, row.number
        if not row.cohort.traits.divisible:
            free = columns.free.item(number) if row.chassis_free else 0
            return _undivided(row.layout, row.approved, row.complete, row.chassis_free, free)
        if not row.chassis_free:
            return Divided(0, 0, (0,) * row.layout.gpus)
        milli: list[int] = columns.milli[number, : row.layout.gpus].tolist()
        return Divided(
            columns.cpu_milli.item(number),
            columns.memory_mib.item(number),
            tuple(sorted(milli, reverse=True)),
        )

    def _count(self, row: Row, by: int) -> None:
        self.screens.clear()
        row.cohort.size += by
        if row.cohort.size:
            self.cohorts[row.cohort.traits] = row.cohort
        else:
            del self.cohorts[row.cohort.traits]
        for sizes in (self.sizes, row.cohort.sizes):
            _add(sizes, row.layout.gpus, by)

    def _index(self, id: str, row: Row) -> None:
        state, cohort = row.state, row.cohort
        if isinstance(state, Divided):
            self.divided.add(id, cohort, state)
            self.board.add(state)
            return
        if state not in self._known:
            self._meet(state)
        self.undivided.add(id, cohort, state)
        cohort.count(state, +1)
        if state.whole:
            key = (cohort, state.gpus)
            if key not in self.wholes:
                self.wholes[key] = Leaves()
            self.wholes[key].add(row.leaf, id)

    def _unindex(self, id: str, row: Row) -> None:
        state, cohort = row.state, row.cohort
        if isinstance(state, Divided):
            self.divided.discard(id, cohort, state)
            self.board.discard(state)
            return
        self.undivided.discard(id, cohort, state)
        cohort.count(state, -1)
        if state.whole:
            wholes = self.wholes[cohort, state.gpus]
            wholes.discard(row.leaf, id)
            if not wholes:
                del self.wholes[cohort, state.gpus]

    def _meet(self, state: State) -> None:
        if len(self._known) >= KNOWN_MAX:
            self._known = set(self.undivided.live)
        self._known.add(state)
        self._rankings.clear()


def _add(counts: dict[int, int], key: int, by: int) -> None:
    counts[key] = counts.get(key, 0) + by
    if not counts[key]:
        del counts[key]


_EMPTY: Final = Divided(0, 0, ())


@lru_cache(maxsize=1 << 16)
def _undivided(
    layout: Layout, approved: int, complete: bool, chassis_free: bool, free: int
) -> State:
    every = (1 << layout.gpus) - 1
    whole = complete and chassis_free and free == every
    return State(layout.gpus, approved, complete, whole, layout.pools(free), free.bit_count())
