"""R25: one tenant asks for ten times what it is allowed; another goes on as before.

A real central with a rate limit, and two tenants that read their projects at their own pace. In
turn, the modest one is alone, and beside the greedy one. Compared: what the modest one waits (p99
of all rounds together), how many of its calls fail, what becomes of the excess, and how soon after
the flood all is as it was, for the modest one and for the greedy one itself. The flood's own
client takes its share of the same cores.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import uvloop
from claiming import central, stage
from flooding.connections import connect
from flooding.pace import Answer, Pace, request

from penstock.central.access import keys
from penstock.central.onboardings import founding
from penstock.kernel import db
from penstock.kernel.actor import SYSTEM

ALLOWED_PER_S: Final = 100
MODEST_PER_S: Final = 20
EXCESS: Final = 10
TAIL_S: Final = 2.0  # watched after a flood
IN_A_ROW: Final = 5
OK, RATE_LIMITED, OVERLOADED = 200, 429, 503


@dataclass
class Rounds:
    alone: list[Answer] = field(default_factory=list[Answer])
    beside: list[Answer] = field(default_factory=list[Answer])
    greedy: list[Answer] = field(default_factory=list[Answer])
    tails: list[list[Answer]] = field(default_factory=list[list[Answer]])
    greedy_back_s: list[float] = field(default_factory=list[float])


@dataclass(frozen=True)
class Bench:
    port: int
    modest: str
    greedy: str
    round_s: float
    rounds: Rounds = field(default_factory=Rounds)

    async def alternate(self, count: int) -> None:
        await self.modestly(self.round_s / 2)  # warm up
        for number in range(count):
            self.rounds.alone += await self.modestly(self.round_s)
            await self.flooded()
            print(f"round {number + 1} of {count}", file=sys.stderr)

    async def modestly(self, for_s: float) -> list[Answer]:
        pace = Pace(self.port, self.modest, MODEST_PER_S, connections=8)
        asyncio.get_running_loop().call_later(for_s, pace.over.set)
        await pace.keep()
        return pace.answers

    async def flooded(self) -> None:
        flood = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "flooding.pace", "--port", str(self.port),
            "--per-s", str(ALLOWED_PER_S * EXCESS), "--for-s", str(self.round_s),
            cwd=Path(__file__).parent, stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        if flood.stdin is None or flood.stdout is None:
            raise RuntimeError("the flood cannot be spoken to")
        flood.stdin.write(self.greedy.encode())
        flood.stdin.close()
        await flood.stdout.readline()  # it has begun
        pace = Pace(self.port, self.modest, MODEST_PER_S, connections=8)
        going = asyncio.create_task(pace.keep())
        said, _ = await flood.communicate()
        if flood.returncode:
            raise RuntimeError("the flood failed")
        self.rounds.greedy += [Answer(*one) for one in json.loads(said)]
        during = len(pace.answers)
        stopped = time.perf_counter()
        self.rounds.greedy_back_s.append(await self.served_again(stopped))
        await asyncio.sleep(max(0.0, stopped + TAIL_S - time.perf_counter()))
        pace.over.set()
        await going
        self.rounds.beside += pace.answers[:during]
        self.rounds.tails.append(pace.answers[during:])

    async def served_again(self, since: float) -> float:
        """How long until the greedy one's next call is answered: at its own, allowed pace."""
        (connection,) = await connect(self.port, 1)
        status, _ = await connection.ask(request(self.greedy))
        while status != OK:
            await asyncio.sleep(1 / ALLOWED_PER_S)
            status, _ = await connection.ask(request(self.greedy))
        return time.perf_counter() - since


def p(share: float, answers: list[Answer]) -> float:
    """Milliseconds within which this share of the calls was answered."""
    took = sorted(answer.took_s for answer in answers)
    return round(took[min(int(len(took) * share), len(took) - 1)] * 1e3, 1)


def recovery_s(tail: list[Answer], usual_ms: float) -> float:
    """From the flood's end until so many calls in a row are answered as fast as usual."""
    calls = sorted(tail, key=lambda one: one.due_s)
    usual = [one.took_s * 1e3 <= usual_ms and one.status == OK for one in calls]
    for number, call in enumerate(calls):
        if all(usual[number : number + IN_A_ROW]):
            return call.due_s - calls[0].due_s
    return TAIL_S


def figures(rounds: Rounds, round_s: float) -> dict[str, float]:
    statuses = Counter(answer.status for answer in rounds.greedy)
    served = [answer for answer in rounds.greedy if answer.status == OK]
    flooded_s = round_s * len(rounds.tails)
    alone_p99 = p(0.99, rounds.alone)
    beside_p99 = p(0.99, rounds.beside)
    modest = rounds.alone + rounds.beside
    return {
        "allowed_per_s": ALLOWED_PER_S,
        "offered_per_s": round(len(rounds.greedy) / flooded_s),
        "greedy_served_per_s": round(len(served) / flooded_s),
        "greedy_served_p99_ms": p(0.99, served),
        "greedy_rate_limited": statuses[RATE_LIMITED],
        "greedy_overloaded": statuses[OVERLOADED],
        "greedy_failed": sum(statuses.values()) - sum(
            statuses[known] for known in (OK, RATE_LIMITED, OVERLOADED)),
        "modest_calls": len(modest),
        "modest_errors": sum(answer.status != OK for answer in modest),
        "alone_p50_ms": p(0.5, rounds.alone),
        "alone_p99_ms": alone_p99,
        "beside_p50_ms": p(0.5, rounds.beside),
        "beside_p99_ms": beside_p99,
        "p99_ratio": round(beside_p99 / alone_p99, 2),
        "recovered_s_max": round(max(recovery_s(tail, alone_p99) for tail in rounds.tails), 2),
        "greedy_served_again_s_max": round(max(rounds.greedy_back_s), 3),
    }  # fmt: skip


async def greedy_key(url: str) -> str:
    database = await db.connect(url, "central", size=1)
    try:
        async with database.transaction() as tx:
            tenant = await founding.create(tx, SYSTEM, name="greedy")
            made = await keys.create(tx, SYSTEM, tenant_id=tenant.id, name="g", role="member")
            return made.token
    finally:
        await database.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print only the last line")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--round-s", type=float, default=6.0)
    given = parser.parse_args()
    limits = {"TENANT_REQUESTS_PER_S": ALLOWED_PER_S, "TENANT_REQUESTS_BURST": ALLOWED_PER_S}
    with stage.server() as started:
        fleet = stage.build(started, "overload", nodes=10)
        token = asyncio.run(greedy_key(fleet.url))
        with central.running(fleet, **limits) as plane:
            bench = Bench(plane.port, plane.token, token, given.round_s)
            uvloop.run(bench.alternate(given.rounds))
    result = figures(bench.rounds, given.round_s)
    if not given.json:
        for name, value in result.items():
            print(f"{name:30} {value}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
