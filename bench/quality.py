"""Placement quality on openb traces: how much of the GPUs each policy gets allocated.

Pods arrive one by one, never leave, and are dropped if they fit nowhere. Reported is the
share of milli-GPU allocated when arrived demand equals 100% and 130% of capacity, in percent,
as means over the seeds. `bound` is what no policy can exceed. The last line is JSON.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from openb import bound, rivals, trace
from openb.placers import Engine
from openb.rivals import Rival
from openb.trace import Machine, Malformed, Pod

from penstock.placement.model import Weights

DATA: Final = Path(__file__).parent / "data" / "openb"
NODES: Final = DATA / "openb_node_list_gpu_node.csv"
PODS: Final = (DATA / "openb_pod_list_default.csv", DATA / "openb_pod_list_gpuspec33.csv")
MARKS: Final = {"at100": 1.0, "at130": 1.3}
ENGINES: Final = {"ours": Weights(), "fgd": Weights(starved=0.0, scarcity=0.0)}
POLICIES: Final = (*ENGINES, *rivals.RATES)


class Policy(Protocol):
    def place(self, pod: Pod) -> bool: ...


def main() -> None:
    asked = _arguments()
    try:
        nodes = trace.machines(asked.nodes)
        lists = {path: trace.pods(path) for path in asked.pods or PODS}
    except Malformed as wrong:
        print(f"quality: {wrong}", file=sys.stderr)
        sys.exit(2)
    for path, listed in lists.items():
        say: Callable[[str], None] = (lambda _: None) if asked.json else print
        what = f"{len(nodes)} nodes, {len(listed)} pods{trace.left_out(path)}"
        say(f"{path.name}: {what}, seeds {asked.seeds}")
        print(json.dumps(_compare(nodes, listed, asked.seeds, asked.policy or POLICIES, say)))


def _compare(
    nodes: list[Machine],
    listed: list[Pod],
    seeds: list[int],
    names: tuple[str, ...],
    say: Callable[[str], None],
) -> dict[str, dict[str, float]]:
    """Every policy meets the same arrivals."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in (*names, "bound")}
    for seed in seeds:
        arriving = trace.arrivals(nodes, listed, seed)
        runs["bound"].append(_limit(nodes, arriving))
        for name in names:
            started = time.perf_counter()
            runs[name].append(_run(_policy(name, nodes, listed, seed), nodes, arriving))
            took = time.perf_counter() - started
            figures = "  ".join(f"{mark} {value:6.2f}" for mark, value in runs[name][-1].items())
            say(f"  seed {seed}  {name:8} {figures}  ({took:.1f} s)")
    return {
        name: {mark: round(statistics.fmean(run[mark] for run in found), 3) for mark in MARKS}
        for name, found in runs.items()
    }


def _policy(name: str, nodes: list[Machine], listed: list[Pod], seed: int) -> Policy:
    if name in ENGINES:
        return Engine(nodes, listed, ENGINES[name])
    return Rival(nodes, rivals.RATES[name], seed)


def _run(policy: Policy, nodes: list[Machine], arriving: list[Pod]) -> dict[str, float]:
    """By mark: the share allocated when demand first reaches it."""
    capacity = trace.capacity_milli(nodes)
    arrived = allocated = 0
    shares: dict[str, float] = {}
    for pod in arriving:
        arrived += pod.milli_total
        allocated += pod.milli_total if policy.place(pod) else 0
        for mark, share in MARKS.items():
            if mark not in shares and arrived >= share * capacity:
                shares[mark] = 100 * allocated / capacity
    return shares


def _limit(nodes: list[Machine], arriving: list[Pod]) -> dict[str, float]:
    capacity = trace.capacity_milli(nodes)
    limits: dict[str, float] = {}
    arrived = 0
    for n, pod in enumerate(arriving, 1):
        arrived += pod.milli_total
        for mark, share in MARKS.items():
            if mark not in limits and arrived >= share * capacity:
                limits[mark] = 100 * bound.bound_milli(nodes, arriving[:n]) / capacity
    return limits


class _Arguments(argparse.Namespace):
    nodes: Path
    pods: list[Path]
    seeds: list[int]
    policy: tuple[str, ...]
    json: bool


def _arguments() -> _Arguments:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=Path, default=NODES, help="openb node list")
    parser.add_argument("--pods", type=Path, action="append", help="openb pod list; may repeat")
    parser.add_argument("--seeds", type=_seeds, default=_seeds("42-51"), help="as 42-51 or 1,5")
    parser.add_argument("--policy", action="append", choices=POLICIES, help="only this; may repeat")
    parser.add_argument("--json", action="store_true", help="print the result alone")
    return parser.parse_args(namespace=_Arguments())


def _seeds(text: str) -> list[int]:
    first, _, last = text.partition("-")
    try:
        seeds = (
            [int(n) for n in text.split(",")] if not last else [*range(int(first), int(last) + 1)]
        )
    except ValueError:
        seeds = []
    if not seeds:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of seeds; say 42-51 or 1,5")
    return seeds


if __name__ == "__main__":
    main()
