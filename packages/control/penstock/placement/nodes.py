"""Nodes and their slots, as placement is told of them."""

from dataclasses import dataclass
from typing import Final

WHOLE_MILLI: Final = 1000  # one GPU


@dataclass(frozen=True, slots=True)
class Slot:
    """`fabric` names the fabric device that serves the GPU; empty if none is known.
    `milli_free` is what is left of a GPU that is shared, in thousandths.
    """

    id: str
    index: int
    numa_node: int
    approved: bool
    free: bool
    fabric: str = ""
    milli_free: int = WHOLE_MILLI

    @property
    def usable(self) -> bool:
        return self.approved and self.free


@dataclass(frozen=True, slots=True)
class Node:
    """`blocked` says why nothing new may be placed here; empty if something may.

    A `divisible` node serves shares of its GPUs, with CPU and memory from what it has free;
    any other node serves whole GPUs and itself. `wrong` says what cannot be true of it, if
    whoever tells of it knows already.
    """

    id: str
    site_id: str
    family: str
    blocked: str
    chassis: Slot
    gpus: tuple[Slot, ...]
    leaf: str = ""
    tags: frozenset[str] = frozenset()
    reserved_for: str = ""
    price_micros_per_gpu_hour: int = 0
    divisible: bool = False
    cpu_milli_free: int = 0
    memory_mib_free: int = 0
    wrong: str = ""

    @property
    def usable_gpus(self) -> tuple[Slot, ...]:
        """None while the whole node is claimed."""
        return tuple(slot for slot in self.gpus if slot.usable) if self.chassis.free else ()
