"""Nodes that cannot be true. They are named and left out, and never break the engine."""

from collections.abc import Callable
from typing import Final

from penstock.placement.kinds.cohorts import GPUS_MAX
from penstock.placement.nodes import WHOLE_MILLI, Node

NUMA_NODES_MAX: Final = 1024


def known(node: Node) -> str:
    return node.wrong


def nameless(node: Node) -> str:
    named = node.id and node.site_id and node.family
    return "" if named else "it lacks an id, a site or a family"


def gpu_count(node: Node) -> str:
    count, least = len(node.gpus), 0 if node.divisible else 1
    return "" if least <= count <= GPUS_MAX else f"it has {count} GPUs, not {least} to {GPUS_MAX}"


def twice_the_same_slot(node: Node) -> str:
    ids = [slot.id for slot in (node.chassis, *node.gpus)]
    return "" if len(set(ids)) == len(ids) else "a slot is there twice"


def twice_the_same_index(node: Node) -> str:
    indexes = [slot.index for slot in node.gpus]
    return "" if len(set(indexes)) == len(indexes) else "two GPUs have the same index"


def indexes(node: Node) -> str:
    wrong = [slot.index for slot in node.gpus if not 0 <= slot.index < GPUS_MAX]
    return f"a GPU has index {wrong[0]}, not 0 to {GPUS_MAX - 1}" if wrong else ""


def numa_nodes(node: Node) -> str:
    wrong = [slot for slot in node.gpus if not 0 <= slot.numa_node < NUMA_NODES_MAX]
    return f"GPU {wrong[0].index} is on NUMA node {wrong[0].numa_node}" if wrong else ""


def shares(node: Node) -> str:
    wrong = [slot for slot in node.gpus if not 0 <= slot.milli_free <= WHOLE_MILLI]
    return f"slot {wrong[0].id} has {wrong[0].milli_free}/1000 of a GPU free" if wrong else ""


def negative_amounts(node: Node) -> str:
    amounts = (node.cpu_milli_free, node.memory_mib_free, node.price_micros_per_gpu_hour)
    return "its free CPU, free memory or price is negative" if min(amounts) < 0 else ""


CHECKS: Final[tuple[Callable[[Node], str], ...]] = (
    known,
    nameless,
    gpu_count,
    twice_the_same_slot,
    twice_the_same_index,
    indexes,
    numa_nodes,
    shares,
    negative_amounts,
)


def why(node: Node) -> str:
    """What about the node is impossible; empty if nothing is."""
    return next((wrong for check in CHECKS if (wrong := check(node))), "")
