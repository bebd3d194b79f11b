"""P5 and P9: what a decision costs, and what a node weighs, in fleets of several sizes."""

import gc
import math
import random
import time
import tracemalloc
from dataclasses import dataclass

from penstock.placement import solver
from penstock.placement.model import Fleet, Node, Plan, Request, Shape, Slot

from . import mix, stage


@dataclass(frozen=True)
class Growth:
    cpu_us: dict[int, float]  # nodes → CPU per decision
    gang_us: dict[int, float]  # the same for gangs, which the mix has none of
    bytes_per_node: float  # of the largest

    @property
    def slope(self) -> float:
        """Of log(cost) over log(nodes), by least squares: 0 is flat, 1 is linear."""
        points = [(math.log(nodes), math.log(us)) for nodes, us in self.cpu_us.items()]
        mean_x = sum(x for x, _ in points) / len(points)
        mean_y = sum(y for _, y in points) / len(points)
        spread = sum((x - mean_x) ** 2 for x, _ in points)
        return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def measure(sizes: tuple[int, ...], decisions: int, passes: int = 3) -> Growth:
    """The same mix on each; of several passes, taken in turn, the quickest counts."""
    fleets = {nodes: _fleet(nodes) for nodes in sizes[:-1]}
    gc.collect()
    tracemalloc.start()
    fleets[sizes[-1]] = _fleet(sizes[-1])
    weight, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    best = dict.fromkeys(sizes, math.inf)
    gangs = dict.fromkeys(sizes, math.inf)
    for number in range(passes):
        for nodes, fleet in fleets.items():
            rng = random.Random(number)
            asked = [_request(rng) for _ in range(decisions)]
            best[nodes] = min(best[nodes], _decide(fleet, asked, rng))
            asked = [_gang(rng) for _ in range(decisions // 10)]
            gangs[nodes] = min(gangs[nodes], _decide(fleet, asked, rng))
    return Growth(best, gangs, weight / sizes[-1])


def _decide(fleet: Fleet, asked: list[Request], rng: random.Random) -> float:
    """CPU microseconds for each; whatever is placed is freed again, half of it soon."""
    held: list[Plan] = []
    spent = 0.0
    for request in asked:
        started = time.process_time()
        plan = solver.solve(request, fleet)
        if isinstance(plan, Plan):
            fleet.take(plan)
            held.append(plan)
        spent += time.process_time() - started
        if len(held) > 200:
            _free(fleet, held.pop(rng.randrange(len(held))))
    for plan in held:
        _free(fleet, plan)
    return spent / len(asked) * 1e6


def _free(fleet: Fleet, plan: Plan) -> None:
    for part in plan.parts:
        fleet.free(part)


def _request(rng: random.Random) -> Request:
    wish = mix.wish(rng)
    shape = Shape.BAREMETAL if wish.sku == stage.METAL else Shape.GPU_SLICE
    return Request(stage.FAMILY, shape, wish.gpus, tenant="tenant")


def _gang(rng: random.Random) -> Request:
    gpus, nodes = stage.GPUS, rng.randint(2, 8)
    return Request(stage.FAMILY, Shape.BAREMETAL, gpus, nodes=nodes, tenant="tenant")


def _fleet(nodes: int) -> Fleet:
    """As central loads it: every string of a node is its own."""
    return Fleet(_node(number) for number in range(nodes))


def _node(number: int) -> Node:
    def slot(index: int) -> Slot:
        fabric = f"fabric-{number}-{index}"
        return Slot(f"slot_{number:020d}{index:06d}", index, index // 4, True, True, fabric)

    return Node(
        id=f"node_{number:026d}",
        site_id=f"site_{number % 8}",
        family=stage.FAMILY,
        blocked="",
        chassis=slot(stage.GPUS),
        gpus=tuple(slot(index) for index in range(stage.GPUS)),
        leaf=f"leaf-{number // 256}",  # of each site, 32 nodes
    )
