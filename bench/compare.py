"""Compares this tree with another checkout of it: the same benchmarks, in turn, in one run.

    .venv/bin/python bench/compare.py OTHER [--rounds 3] [--benchmark claims.py] [--quick]

OTHER is a checkout in which `make setup` was run. Each round runs every benchmark in both trees,
one after the other, and which is first alternates; what is not an option here is given to them.
Printed are the medians of each figure and this tree's ratio to the other's; the last line is JSON.
"""

import argparse
import json
import statistics
import subprocess
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
SHARES = ("_per_s", "_ms", "_s", "_us", "_kb")  # figures whose ratio says something
Samples = dict[str, list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare this tree with another checkout of it.")
    parser.add_argument("other", type=Path, help="a checkout in which `make setup` was run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--benchmark", action="append", help="default: claims.py and lease.py")
    options, given = parser.parse_known_args()
    found: dict[str, dict[str, float]] = {}
    for benchmark in options.benchmark or ["claims.py", "lease.py"]:
        found |= compare(options.other.resolve(), benchmark, options.rounds, given)
    print(json.dumps(found))


def compare(
    other: Path, benchmark: str, rounds: int, given: list[str]
) -> dict[str, dict[str, float]]:
    samples: dict[Path, Samples] = {HERE: defaultdict(list), other: defaultdict(list)}
    for number in range(rounds):
        for tree in (HERE, other) if number % 2 == 0 else (other, HERE):
            for name, value in measure(tree, benchmark, given).items():
                samples[tree][name].append(value)
    print(f"{benchmark:32} {'this':>12} {'other':>12} {'ratio':>7}   every value of both")
    return {
        f"{benchmark}:{name}": row(name, samples[HERE][name], samples[other][name])
        for name in samples[HERE]
        if name.endswith(SHARES) and samples[other].get(name)
    }


def measure(tree: Path, benchmark: str, given: list[str]) -> dict[str, float]:
    command = [str(tree / ".venv/bin/python"), f"bench/{benchmark}", "--json", *given]
    done = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def row(name: str, here: list[float], there: list[float]) -> dict[str, float]:
    ours, theirs = statistics.median(here), statistics.median(there)
    ratio = round(ours / theirs, 2) if theirs else 0.0
    print(f"{name:32} {ours:>12,.1f} {theirs:>12,.1f} {ratio:>7}   {here} {there}", flush=True)
    return {"this": ours, "other": theirs, "ratio": ratio}


if __name__ == "__main__":
    main()
