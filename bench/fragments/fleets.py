"""Fleets in which leases came and went: each node holds a random part of what it could."""

import random
from dataclasses import dataclass

from penstock.placement.defragmentation.moves import Lease
from penstock.placement.model import Fleet, Node, Request, Shape, Slot

GPUS = 8


@dataclass(frozen=True)
class Leased:
    nodes: list[Node]
    leases: list[Lease]

    @property
    def fleet(self) -> Fleet:
        return Fleet(self.nodes)

    def free(self) -> list[int]:
        return [sum(slot.free for slot in node.gpus) for node in self.nodes]

    def place(self, lease: Lease) -> int:
        """Which node it is on."""
        return int(lease.node_id.removeprefix("node_"))


def make(rng: random.Random, nodes: int, sizes: tuple[int, ...]) -> Leased:
    made = Leased([], [])
    for number in range(nodes):
        order = rng.sample(range(GPUS), GPUS)
        left = rng.randint(0, GPUS)
        while fitting := [size for size in sizes if size <= left]:
            size = rng.choice(fitting)
            _lease(made, number, [order.pop() for _ in range(size)])
            left -= size
        made.nodes.append(_node(number, order))
    return made


def _lease(made: Leased, number: int, gpus: list[int]) -> None:
    id = f"node_{number:05}"
    slot_ids = tuple(f"{id}_{gpu}" for gpu in gpus)
    request = Request("h100", Shape.GPU_SLICE, len(gpus))
    made.leases.append(Lease(f"alloc_{len(made.leases):06}", "tenant", id, slot_ids, request))


def _node(number: int, free: list[int]) -> Node:
    id = f"node_{number:05}"
    gpus = tuple(Slot(f"{id}_{n}", n, n // 4, True, n in free, f"f{n}") for n in range(GPUS))
    return Node(id, "site", "h100", "", Slot(f"{id}_c", 0, 0, True, True), gpus)
