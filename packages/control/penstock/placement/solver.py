"""Best fit: the node that the request fills most, then the fewest NUMA nodes.

Each rule is a small named function; the order of RULES is the order in which a node
meets them, and the first that it fails is the one that counts.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Final

from penstock.placement.model import (
    Candidate,
    Fleet,
    Node,
    Plan,
    Refusal,
    Request,
    Shape,
    Slot,
    Taken,
)

POLICY: Final = "best-fit/1"


def site_allowed(request: Request, node: Node) -> bool:
    return request.site_id is None or node.site_id == request.site_id


def schedulable(_request: Request, node: Node) -> bool:
    return not node.blocked


def large_enough(request: Request, node: Node) -> bool:
    approved = sum(slot.approved for slot in node.gpus)
    if request.shape is Shape.BAREMETAL:
        return node.chassis.approved and approved == len(node.gpus) == request.gpus
    return approved >= request.gpus


def free_enough(request: Request, node: Node) -> bool:
    usable = len(node.usable_gpus)
    if request.shape is Shape.BAREMETAL:
        return node.chassis.usable and usable == len(node.gpus)
    return usable >= request.gpus


RULES: Final[tuple[Callable[[Request, Node], bool], ...]] = (
    site_allowed,
    schedulable,
    large_enough,
    free_enough,
)


def solve(request: Request, fleet: Fleet) -> Plan | Refusal:
    """Where the request goes, or why it goes nowhere."""
    rejections = dict.fromkeys((rule.__name__ for rule in RULES), 0)
    fitting: list[tuple[Candidate, Node, tuple[Slot, ...]]] = []
    considered = 0
    for node in fleet.of_family(request.family):
        considered += 1
        failed = next((rule.__name__ for rule in RULES if not rule(request, node)), None)
        if failed is not None:
            rejections[failed] += 1
            continue
        chosen = choose_slots(request, node)
        fitting.append((Candidate(node.id, score(node, chosen)), node, chosen))
    if not fitting:
        return Refusal(rejections, considered)
    fitting.sort(key=lambda fit: (fit[0].score, fit[0].node_id))
    _, node, chosen = fitting[0]
    return Plan(
        node_id=node.id,
        site_id=node.site_id,
        taken=tuple(Taken(slot.id, slot.fence + 1) for slot in chosen),
        candidates=tuple(candidate for candidate, _, _ in fitting[:5]),
        rejections=rejections,
    )


def choose_slots(request: Request, node: Node) -> tuple[Slot, ...]:
    """The chassis and all GPUs, or the GPUs that lie on the fewest NUMA nodes."""
    if request.shape is Shape.BAREMETAL:
        return (node.chassis, *node.gpus)
    by_numa: dict[int, list[Slot]] = {}
    for slot in node.usable_gpus:
        by_numa.setdefault(slot.numa_node, []).append(slot)
    for width in range(1, len(by_numa) + 1):
        fits = [
            group
            for group in combinations(sorted(by_numa), width)
            if sum(len(by_numa[numa]) for numa in group) >= request.gpus
        ]
        if fits:
            tightest = min(fits, key=lambda group: sum(len(by_numa[numa]) for numa in group))
            pool = [slot for numa in tightest for slot in by_numa[numa]]
            return tuple(pool[: request.gpus])
    raise ValueError(f"node {node.id} passed the rules but lacks {request.gpus} free GPUs")


def score(node: Node, chosen: tuple[Slot, ...]) -> tuple[int, ...]:
    leftover = len(node.usable_gpus) - len([slot for slot in chosen if slot in node.gpus])
    return leftover, len({slot.numa_node for slot in chosen})


def nearest(request: Request, fleet: Fleet, counts: tuple[int, ...]) -> Request | None:
    """The nearest change that would fit now: any site first, then fewer GPUs."""
    smaller = [count for count in sorted(counts, reverse=True) if count < request.gpus]
    changes = [Request(request.family, request.shape, request.gpus)] if request.site_id else []
    for site in dict.fromkeys((request.site_id, None)):
        changes += [Request(request.family, request.shape, count, site) for count in smaller]
    return next((change for change in changes if isinstance(solve(change, fleet), Plan)), None)
