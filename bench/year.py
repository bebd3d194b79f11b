"""A year of leases in fast motion: is all as small and as quick at its end as at its beginning?

Leases are made, run, released with proof and metered, month after month, on one fleet. Everything
is kept for a month: the beginning is after four, when that has filled up. The same year without
trimming is beside it. Usage is money and kept for ever: its size is told apart.
"""

import argparse
import asyncio
import json
from dataclasses import dataclass

from claiming import ageing, stage
from claiming.ageing import Age


@dataclass(frozen=True)
class Size:
    nodes: int
    months: int
    batches: int  # of 1,024 leases, in a month


FULL = Size(2_000, 12, 12)
QUICK = Size(1_000, 12, 3)
Figures = dict[str, float | int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer leases, two minutes at most")
    parser.add_argument("--json", action="store_true", help="only the last line")
    given = parser.parse_args()
    size = QUICK if given.quick else FULL
    figures: Figures = {}
    with stage.server() as server:
        for name, trimming in (("trimmed", True), ("untrimmed", False)):
            fleet = stage.build(server, name, size.nodes)
            lived = ageing.live(fleet, size.months, size.batches, trimming=trimming)
            figures |= compare(name, *asyncio.run(lived))
    if not given.json:
        for name, value in figures.items():
            print(f"{name:40} {value:,}")
    print(json.dumps(figures))


def compare(name: str, first: Age, last: Age) -> Figures:
    """Ratios are the end's to the beginning's: 1 is the same."""
    usage = last.usage_bytes - first.usage_bytes
    return {
        f"{name}_leases": last.leases,
        f"{name}_size_mb": round(last.bytes / 1e6, 1),
        f"{name}_size_ratio": round(last.bytes / first.bytes, 2),
        f"{name}_size_ratio_without_usage": round(
            (last.bytes - last.usage_bytes) / (first.bytes - first.usage_bytes), 2
        ),
        f"{name}_bytes_per_lease": round((last.bytes - first.bytes) / (last.leases - first.leases)),
        f"{name}_usage_bytes_per_lease": round(usage / (last.leases - first.leases)),
        f"{name}_start_ms": round(last.start_s * 1000, 1),
        f"{name}_start_ratio": round(last.start_s / first.start_s, 2),
        f"{name}_leases_per_s": round(last.leases_per_s),
        f"{name}_speed_ratio": round(last.leases_per_s / first.leases_per_s, 2),
    }


if __name__ == "__main__":
    main()
