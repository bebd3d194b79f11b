"""Authorization: what a decision costs, and what requests lose by it.

A cold decision is a question that was never asked: real evaluation, with policies that were
parsed once. A warm one is remembered. Requests per second are of GET /v1/projects over HTTP, in
one process, in turns: with the policies, and with a stand-in that permits everything.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
from claiming import central as centrals
from claiming import stage
from claiming.stage import Fleet

from penstock.central import app
from penstock.central.access import authorization
from penstock.central.access.authorization import POLICIES, Resource
from penstock.central.access.engine import Decision
from penstock.central.settings import CentralSettings
from penstock.kernel.actor import NO_ROLE, Actor, Grant
from penstock.local import ports
from penstock_contracts.ids import TenantId

CLIENTS = 8
DECISION_US_MAX = 150
Figures = dict[str, float | int]


class Open:
    """Permits everything, at once."""

    def permit(self, _actor: Actor, _action: str, _resource: Resource) -> bool:
        return True

    def decide(self, _actor: Actor, _action: str, _resource: Resource) -> Decision:
        return Decision(True, ())


@dataclass(frozen=True)
class Size:
    decisions: int
    rounds: int
    seconds: float


FULL = Size(20_000, 7, 3.0)
QUICK = Size(3_000, 5, 1.0)


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
    began = time.process_time()
    for about in places:
        assert POLICIES.evaluate(actor, "allocation.create", about).allowed
    cold = time.process_time() - began
    POLICIES.permit(actor, "allocation.create", places[0])
    began = time.process_time()
    for _ in places:
        POLICIES.permit(actor, "allocation.create", places[0])
    warm = time.process_time() - began
    return {
        "decision_cold_us": round(cold / size.decisions * 1e6, 1),
        "decision_warm_us": round(warm / size.decisions * 1e6, 2),
        "decision_cold_us_max": DECISION_US_MAX,
    }


def requests(size: Size) -> Figures:
    with stage.server() as server:
        fleet = stage.build(server, "fleet", 10)
        return asyncio.run(_requests(fleet, size))


async def _requests(fleet: Fleet, size: Size) -> Figures:
    token = await centrals.make_key(fleet)
    async with _running(fleet) as base:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(base_url=base, headers=headers, trust_env=False) as client:
            await _per_s(client, size.seconds / 2)
            closed: list[float] = []
            opened: list[float] = []
            for _ in range(size.rounds):
                closed.append(await _per_s(client, size.seconds))
                setattr(authorization, "POLICIES", Open())  # noqa: B010 # a stand-in of this bench
                opened.append(await _per_s(client, size.seconds))
                setattr(authorization, "POLICIES", POLICIES)  # noqa: B010
    ratios = [ours / bare for ours, bare in zip(closed, opened, strict=True)]
    return {
        "requests_per_s": round(statistics.median(closed)),
        "requests_per_s_without": round(statistics.median(opened)),
        "requests_ratio": round(statistics.median(ratios), 3),
    }


async def _per_s(client: httpx2.AsyncClient, seconds: float) -> float:
    until = time.monotonic() + seconds

    async def ask() -> int:
        count = 0
        while time.monotonic() < until:
            answer = await client.get("/v1/projects")
            assert answer.status_code == 200
            count += 1
        return count

    return sum(await asyncio.gather(*(ask() for _ in range(CLIENTS)))) / seconds


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
