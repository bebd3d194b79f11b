"""What the solver sees: requests, and a fleet of nodes with slots."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum


class Shape(StrEnum):
    BAREMETAL = "baremetal"  # one allocation owns the whole node
    GPU_SLICE = "gpu_slice"  # one allocation owns approved GPU slots of one node


@dataclass(frozen=True)
class Slot:
    """`fence` is that of its last claim; the next claim's is one higher."""

    id: str
    index: int
    numa_node: int
    fence: int
    approved: bool
    free: bool

    @property
    def usable(self) -> bool:
        return self.approved and self.free


@dataclass(frozen=True)
class Node:
    """`blocked` says why nothing new may be placed here; empty if something may."""

    id: str
    site_id: str
    family: str
    blocked: str
    chassis: Slot
    gpus: tuple[Slot, ...]

    @property
    def usable_gpus(self) -> tuple[Slot, ...]:
        """None while the whole node is claimed."""
        return tuple(slot for slot in self.gpus if slot.usable) if self.chassis.free else ()


@dataclass(frozen=True)
class Request:
    family: str
    shape: Shape
    gpus: int
    site_id: str | None = None


@dataclass(frozen=True)
class Taken:
    """A slot and the fence of its new claim."""

    slot_id: str
    fence: int


@dataclass(frozen=True)
class Candidate:
    node_id: str
    score: tuple[int, ...]  # lower is better


@dataclass(frozen=True)
class Plan:
    node_id: str
    site_id: str
    taken: tuple[Taken, ...]
    candidates: tuple[Candidate, ...]
    rejections: dict[str, int]  # rule → nodes it removed


@dataclass(frozen=True)
class Refusal:
    """No node fits. `rejections` says how many nodes each rule removed, in order."""

    rejections: dict[str, int]
    considered: int


class Fleet:
    """Nodes by id and by family, as one replica knows them at a revision."""

    def __init__(self, nodes: Iterable[Node] = (), revision: int = 0) -> None:
        self.revision = revision
        self._nodes: dict[str, Node] = {}
        self._families: dict[str, set[str]] = {}
        for node in nodes:
            self.put(node)

    def put(self, node: Node) -> None:
        self.drop(node.id)
        self._nodes[node.id] = node
        self._families.setdefault(node.family, set()).add(node.id)

    def drop(self, id: str) -> None:
        if old := self._nodes.pop(id, None):
            self._families[old.family].discard(id)

    def take(self, plan: Plan) -> None:
        """Remember that the plan's slots are held, so that the next request sees it."""
        node = self._nodes[plan.node_id]
        fences = {taken.slot_id: taken.fence for taken in plan.taken}
        self.put(replace(node, chassis=_held(node.chassis, fences),
                         gpus=tuple(_held(slot, fences) for slot in node.gpus)))  # fmt: skip

    def of_family(self, family: str) -> Iterator[Node]:
        return (self._nodes[id] for id in sorted(self._families.get(family, ())))

    def families(self) -> list[str]:
        return sorted(family for family, nodes in self._families.items() if nodes)

    def __len__(self) -> int:
        return len(self._nodes)


def _held(slot: Slot, fences: dict[str, int]) -> Slot:
    return replace(slot, free=False, fence=fences[slot.id]) if slot.id in fences else slot
