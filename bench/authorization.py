"""Authorization: what a decision costs, and what requests lose by it.

A cold decision is a question that was never asked: real evaluation, with policies that were
parsed once. A warm one is remembered. Requests are GET /v1/projects over HTTP, in one process with
their clients, in many short turns: with the policies as they are, with policies that remember
nothing, and with a stand-in that permits everything. The ratios are of the CPU time of a request,
each turn against the one beside it: so it matters little who else uses the machine, and when.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
from claiming import central as centrals
from claiming import stage
from claiming.stage import Fleet

from penstock.central import app
from penstock.central.access.engine import Decision, Policies
from penstock.central.access.in_force import IN_FORCE, SCHEMA, TREE
from penstock.central.access.resources import Resource
from penstock.central.settings import CentralSettings
from penstock.kernel.actor import NO_ROLE, Actor, Grant
from penstock.local import ports
from penstock_contracts.ids import TenantId

CLIENTS = 8
LOT = 100  # decisions
DECISION_US_MAX = 150
Figures = dict[str, float | int]


class Open(Policies):
    """Permits everything, at once."""

    def decide(self, actor: Actor, action: str, resource: Resource) -> Decision:
        return Decision(True, ())


class Forgetful(Policies):
    """Remembers no answer."""

    def decide(self, actor: Actor, action: str, resource: Resource) -> Decision:
        return self.evaluate(actor, action, resource)


@dataclass(frozen=True)
class Size:
    decisions: int
    rounds: int
    requests: int  # of one turn, by each client


@dataclass(frozen=True)
class Turn:
    requests: int
    seconds: float
    cpu_s: float  # of central and its clients

    @property
    def per_s(self) -> float:
        return self.requests / self.seconds

    @property
    def per_cpu_s(self) -> float:
        return self.requests / self.cpu_s


FULL = Size(20_000, 300, 4)
QUICK = Size(3_000, 100, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument("--json", action="store_true", help="only the last line")
    given = parser.parse_args()
    size = QUICK if given.quick else FULL
    figures = {**decisions(size), **requests(size)}
    if not given.json:
        for name, value in figures.items():
            print(f"{name:36} {value:,}")
    print(json.dumps(figures))


def decisions(size: Size) -> Figures:
    """In CPU time, so that it says the same on a busy machine."""
    tenant = TenantId.new()
    member = Grant("member", "organization", "org_a")
    actor = Actor("user", "user_a", NO_ROLE, tenant, grants=frozenset({member}))
    places = [
        Resource("project", None, tenant, "org_a", f"project_{n}", family="h100")
        for n in range(size.decisions)
    ]
    policies = IN_FORCE.policies

    def cold(about: Resource) -> None:
        assert policies.evaluate(actor, "allocation.create", about).allowed

    def warm(_about: Resource) -> None:
        assert policies.permit(actor, "allocation.create", places[0])

    return {
        "decision_cold_us": round(_cpu_us(cold, places), 1),
        "decision_warm_us": round(_cpu_us(warm, places), 2),
        "decision_cold_us_max": DECISION_US_MAX,
    }


def _cpu_us(ask: Callable[[Resource], None], places: Sequence[Resource]) -> float:
    """Of one question: the median of many lots."""
    lots: list[float] = []
    for begin in range(0, len(places), LOT):
        lot = places[begin : begin + LOT]
        began = time.process_time()
        for about in lot:
            ask(about)
        lots.append((time.process_time() - began) / len(lot))
    return statistics.median(lots) * 1e6


def requests(size: Size) -> Figures:
    with stage.server() as server:
        fleet = stage.build(server, "fleet", 10)
        return asyncio.run(_requests(fleet, size))


async def _requests(fleet: Fleet, size: Size) -> Figures:
    token = await centrals.make_key(fleet)
    async with _running(fleet) as base:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(
            base_url=base, headers=headers, trust_env=False, timeout=60
        ) as client:
            await _turn(client, 50)
            turns = await _turns(client, size)
    asis, cold, bare = turns
    return {
        "requests_per_s": round(statistics.median(turn.per_s for turn in asis)),
        "requests_per_s_without": round(statistics.median(turn.per_s for turn in bare)),
        **_ratio("requests_ratio", asis, bare),
        **_ratio("requests_ratio_cold", cold, bare),
    }


async def _turns(client: httpx2.AsyncClient, size: Size) -> tuple[list[Turn], ...]:
    """As it is, forgetful and open: each once a round, there and back, so that drift cancels."""
    kinds = (IN_FORCE.policies, Forgetful(TREE, SCHEMA), Open(TREE, SCHEMA))
    turns: tuple[list[Turn], ...] = ([], [], [])
    order = list(zip(kinds, turns, strict=True))
    for _ in range(size.rounds):
        for policies, taken in order:
            IN_FORCE.exchange(policies)
            taken.append(await _turn(client, size.requests))
        order.reverse()
    return turns


def _ratio(name: str, ours: list[Turn], bare: list[Turn]) -> Figures:
    """The median of rounds, and the middle half of them."""
    ratios = [a.per_cpu_s / b.per_cpu_s for a, b in zip(ours, bare, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {name: round(middle, 3), f"{name}_p25": round(low, 3), f"{name}_p75": round(high, 3)}


async def _turn(client: httpx2.AsyncClient, requests: int) -> Turn:
    async def ask() -> None:
        for _ in range(requests):
            answer = await client.get("/v1/projects")
            assert answer.status_code == 200

    began, cpu = time.monotonic(), time.process_time()
    await asyncio.gather(*(ask() for _ in range(CLIENTS)))
    return Turn(requests * CLIENTS, time.monotonic() - began, time.process_time() - cpu)


@asynccontextmanager
async def _running(fleet: Fleet) -> AsyncGenerator[str, None]:
    """Central in this process, so that its policies can be exchanged."""
    taken: list[int] = []
    for _ in range(4):
        taken.append(ports.pick(taken))
    names = ("http_listen", "join_listen", "link_listen", "metrics_listen")
    listen = dict(zip(names, map(ports.address, taken), strict=True))
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        values = {"database_url": fleet.url, "data": Path(folder), "log_level": "warning"}
        settings = CentralSettings.model_validate({**values, **listen})
        serving = asyncio.create_task(app.serve(settings))
        base = f"http://{listen['http_listen']}"
        try:
            await _answers(base, serving)
            yield base
        finally:
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving


async def _answers(base: str, serving: "asyncio.Task[None]") -> None:
    async with httpx2.AsyncClient(base_url=base, trust_env=False) as client:
        for _ in range(300):
            if serving.done():
                serving.result()
            with suppress(httpx2.TransportError):
                if (await client.get("/readyz")).status_code == 200:
                    return
            await asyncio.sleep(0.1)
    raise TimeoutError("central was not ready within 30 s")


if __name__ == "__main__":
    main()
