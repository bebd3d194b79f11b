"""Claims: how fast, how flat, how light, how soon (P1, P2, P3, P5, P9, P10).

P1 alternates with pgbench's claim (one UPDATE, one INSERT a transaction, 32 clients) on the
same server; P3 with a bare claim through asyncpg. Everything is written to disk before it is
answered, and nothing may be booked twice.
"""

import argparse
import asyncio
import json
import statistics
from dataclasses import dataclass

from claiming import central, growth, http, inprocess, loading, reference, rounds, stage
from claiming.stage import Fleet

from penstock.local.postgres import EmbeddedPostgres

PLACEMENT_CLAIMS_PER_S = 2.8  # OpenStack Placement 16.0, 5,000 providers, one worker, here


@dataclass(frozen=True)
class Size:
    nodes: int
    leases: int  # that run when central starts
    rounds: int  # of claims in process
    seconds: float  # of each round, each side
    loads: int  # over HTTP
    requests: int  # of each load
    open_loop: tuple[float, ...]
    fleets: tuple[int, ...]
    decisions: int
    segments: int  # of the database's log


FULL = Size(
    10_000, 50_000, 11, 3.0, 7, 6_000, (500.0, 1_000.0), (1_000, 10_000, 100_000), 20_000, 192
)
QUICK = Size(2_000, 5_000, 7, 0.7, 5, 1_200, (500.0,), (1_000, 10_000), 4_000, 40)
Figures = dict[str, float | int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything, under a minute")
    parser.add_argument("--json", action="store_true", help="only the last line")
    given = parser.parse_args()
    size = QUICK if given.quick else FULL
    with stage.server(size.segments) as server:
        fleet = stage.build(server, "fleet", size.nodes)
        reference_url = reference.prepare(server, "reference")
        figures: Figures = {
            **in_process(fleet, reference_url, size),
            **over_http(fleet, reference_url, size),
            **start(server, size),
            **grow(size),
        }
    if not given.json:
        for name, value in figures.items():
            print(f"{name:32} {value:,.2f}" if isinstance(value, float) else f"{name:32} {value:,}")
    print(json.dumps(figures))


def in_process(fleet: Fleet, reference_url: str, size: Size) -> Figures:
    claiming = inprocess.Claiming(fleet)
    try:
        claiming.claims_per_s(size.seconds)  # warm
        found = rounds.alternate(
            lambda: claiming.claims_per_s(size.seconds),
            lambda: reference.pgbench(reference_url, seconds=max(1, round(size.seconds))),
            size.rounds,
        )
        return {
            "claims_per_s": round(statistics.median(r.ours for r in found)),
            "pgbench_claims_per_s": round(statistics.median(r.reference for r in found)),
            "claims_ratio_vs_pgbench": round(statistics.median(r.ratio for r in found), 2),
            "claims": claiming.claims,
            "claims_refused": claiming.refused,
            "double_booked": claiming.double_booked(),
        }
    finally:
        claiming.close()


def over_http(fleet: Fleet, reference_url: str, size: Size) -> Figures:
    with central.running(fleet) as running:
        http.load(running, fleet, count=size.requests // 2, seed=0)  # warm
        closed = [
            http.load(running, fleet, count=size.requests, seed=seed)
            for seed in range(1, size.loads + 1)
        ]
        figures = _latencies(fleet, reference_url, size, running)
    rate = statistics.median(one.per_s for one in closed)
    every = [took for one in closed for took in one.took_s]
    return {
        "http_allocations_per_s": round(rate),
        "http_ratio_vs_placement": round(rate / PLACEMENT_CLAIMS_PER_S),
        "http_p99_ms": round(rounds.percentile(every, 0.99) * 1000, 1),
        "http_failed": sum(one.failed for one in closed),
        **figures,
    }


def _latencies(fleet: Fleet, reference_url: str, size: Size, running: central.Central) -> Figures:
    """Open loop: requests come at their own times, so what waits is counted as waiting."""
    figures: Figures = {}
    for per_s in size.open_loop:
        ratios: list[float] = []
        p99s: list[float] = []
        for seed in range(3):
            count = round(per_s * 2 * size.seconds)
            opened = http.load(running, fleet, count=count, seed=100 + seed, per_s=per_s)
            bare = asyncio.run(reference.bare_claims_s(reference_url, 300))
            p99s.append(rounds.percentile(opened.took_s, 0.99))
            ratios.append(p99s[-1] / rounds.percentile(bare, 0.99))
        name = f"open_loop_{per_s:.0f}"
        figures[f"{name}_p99_ms"] = round(statistics.median(p99s) * 1000, 1)
        figures[f"{name}_p99_ratio_vs_bare"] = round(statistics.median(ratios), 1)
    return figures


def start(server: EmbeddedPostgres, size: Size) -> Figures:
    """A replica that knows nothing, on a fleet with leases, until its first claim is on disk."""
    fleet = stage.build(server, "started", size.nodes)
    leases = asyncio.run(loading.lease(fleet, size.leases))
    times = [_first_claim(fleet) for _ in range(3)]
    raw = [asyncio.run(loading.raw_select_s(fleet)) for _ in range(3)]
    return {
        "start_to_first_claim_s": round(statistics.median(times), 3),
        "start_ratio_vs_raw_select": round(statistics.median(times) / statistics.median(raw), 1),
        "start_leases": leases,
    }


def _first_claim(fleet: Fleet) -> float:
    claiming = inprocess.Claiming(fleet)
    try:
        return claiming.first_claim_s()
    finally:
        claiming.close()


def grow(size: Size) -> Figures:
    found = growth.measure(size.fleets, size.decisions)
    costs = {f"decision_us_at_{nodes}": round(us, 1) for nodes, us in found.cpu_us.items()}
    gangs = {f"gang_us_at_{nodes}": round(us, 1) for nodes, us in found.gang_us.items()}
    return {
        **costs,
        **gangs,
        "growth_slope": round(found.slope, 3),
        "bytes_per_node": round(found.bytes_per_node),
    }


if __name__ == "__main__":
    main()
