"""Plans of moves against the optimum and against first fit: what they open, what they move.

Small fleets, of which the optimum can be found, every plan of the same fleet in turn; then the
time that a plan takes in a large one. The last line is JSON: opened, and GPUs moved for it, of
each; how many fleets were planned as well as can be; milliseconds in the large fleet.
"""

import argparse
import json
import random
import time
from typing import Final

from fragments import fleets, rivals
from fragments.fleets import Leased

from penstock.placement.defragmentation import defrag, yards
from penstock.placement.defragmentation.moves import MovePlan, Target
from penstock.placement.model import Shape

SIZES: Final = ((1, 2, 4), (1, 2, 3, 4), (1, 2, 3, 5, 6))
TARGETS: Final = (
    Target(Shape.BAREMETAL, 8),
    Target(Shape.GPU_SLICE, 4),
    Target(Shape.GPU_SLICE, 2),
)
NODES: Final = 4  # of a fleet whose optimum is looked for


def planned(leased: Leased, target: Target) -> MovePlan:
    family = leased.fleet.family("h100")
    return defrag.plan(yards.survey(family, "site", leased.leases) if family else (), target)


def compare(seed: int, count: int) -> dict[str, dict[str, int]]:
    rng = random.Random(seed)
    names = ("ours", "first_fit", "optimum")
    total = {name: {"opened": 0, "gpus_moved": 0, "best": 0} for name in names}
    for number in range(count):
        leased = fleets.make(rng, NODES, SIZES[number % len(SIZES)])
        for target in TARGETS:
            plan = planned(leased, target)
            gpus = sum(move.lease.gpus for move in plan.moves)
            best = rivals.optimum(leased, target)
            found = (plan.opened_total, gpus), rivals.first_fit(leased, target), best
            for name, (opened, moved) in zip(names, found, strict=True):
                total[name]["opened"] += opened
                total[name]["gpus_moved"] += moved
                total[name]["best"] += opened == best[0]
    return total


def timed(nodes: int) -> dict[str, float]:
    leased = fleets.make(random.Random(1), nodes, SIZES[0])
    family = leased.fleet.family("h100")
    took: dict[str, float] = {}
    assert family is not None
    for target in TARGETS:
        begun = time.perf_counter()
        defrag.plan(yards.survey(family, "site", leased.leases), target)
        name = f"{target.shape}_{target.gpus}_ms"
        took[name] = round(1000 * (time.perf_counter() - begun), 1)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fleets", type=int, default=60)
    parser.add_argument("--nodes", type=int, default=10_000, help="of the large fleet")
    parser.add_argument("--json", action="store_true", help="print the result alone")
    asked = parser.parse_args()
    compared = compare(asked.seed, asked.fleets)
    if not asked.json:
        for name, found in compared.items():
            print(f"{name:10} {found}")
    plans = asked.fleets * len(TARGETS)
    print(json.dumps({**compared, "plans": plans, "nodes": asked.nodes, **timed(asked.nodes)}))


if __name__ == "__main__":
    main()
