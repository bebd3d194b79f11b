"""The race: clients lease and release on several replicas while replicas are killed.

Every request carries a key. A connection that broke, or an answer that says "perhaps",
is asked again with the same key, of whichever replica answers.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import asyncpg
import httpx2

from penstock.central.access import keys
from penstock.placement.model import Shape

from . import history, proofs, replicas, stage
from .history import Claim, History, Operation
from .replicas import Replica
from .stage import ADMIN, Stage

CLIENTS: Final = 8
NODES: Final = (8,) * 8
LEASES_MAX: Final = 6  # of one client, at once
PATIENCE_S: Final = 40.0  # after the end, for what is not answered yet
SIZES: Final = ((Shape.GPU_SLICE, (1, 1, 2, 3, 4)), (Shape.BAREMETAL, (8,)))
PERHAPS: Final = (502, 503, 504)


@dataclass
class Result:
    history: History
    claims: list[Claim]
    problems: list[str]
    seconds: float
    kills: int = 0
    broken: int = 0  # requests cut off by a kill, whose effect had to be asked for
    latencies_ms: list[float] = field(default_factory=list[float])


@dataclass
class Race:
    stage: Stage
    replicas: list[Replica]
    token: str
    rng: random.Random
    ends_at: float
    history: History = field(default_factory=History)
    released: "asyncio.Queue[str]" = field(default_factory=lambda: asyncio.Queue[str]())
    latencies_ms: list[float] = field(default_factory=list[float])
    kills: int = 0
    refused: list[str] = field(default_factory=list[str])

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.ends_at

    async def run(self, *, kill: bool) -> None:
        cleaning = asyncio.create_task(self.clean())
        racing = asyncio.create_task(self.race(kill=kill))
        try:
            await asyncio.wait({cleaning, racing}, return_when=asyncio.FIRST_COMPLETED)
            if cleaning.done():
                cleaning.result()  # the site never ends by itself: this says why it did
            await racing
        finally:
            cleaning.cancel()
            racing.cancel()

    async def race(self, *, kill: bool) -> None:
        killing = asyncio.create_task(self.kill()) if kill else None
        await asyncio.gather(*(self.client(number) for number in range(CLIENTS)))
        if killing is not None:
            await killing
        await self.released.join()

    async def client(self, number: int) -> None:
        rng = random.Random(self.rng.random())
        mine: list[Operation] = []
        limits = httpx2.Limits(max_keepalive_connections=2)
        async with httpx2.AsyncClient(timeout=30.0, trust_env=False, limits=limits) as http:
            count = 0
            while not self.over:
                if len(mine) < LEASES_MAX and rng.random() < 0.6:
                    operation = await self.lease(http, rng, f"c{number}-{count}")
                    mine += [operation] if operation.allocation else []
                elif mine:
                    await self.release(http, rng, mine.pop(rng.randrange(len(mine))))
                count += 1

    async def lease(self, http: httpx2.AsyncClient, rng: random.Random, key: str) -> Operation:
        shape, counts = SIZES[rng.random() < 0.1]
        gpus = rng.choice(counts)
        operation = self.history.begin(key, gpus)
        body: dict[str, object] = {"project": "main", "sku": stage.SKU[shape], "gpus": gpus}
        started = time.monotonic()
        answer = await self.ask(http, rng, "/v1/allocations", key, body, operation)
        if answer is None:
            return operation
        told = answer.json()
        if answer.status_code == 201:
            operation.slots = tuple(told["slots"])
            operation.allocation = told["id"]
            operation.held_from = time.monotonic()
        elif answer.status_code == 409:
            operation.refused = told["code"]
        self.latencies_ms.append((time.monotonic() - started) * 1000)
        return operation

    async def release(
        self, http: httpx2.AsyncClient, rng: random.Random, operation: Operation
    ) -> None:
        operation.held_until = time.monotonic()
        path = f"/v1/allocations/{operation.allocation}/release"
        if await self.ask(http, rng, path, f"{operation.key}-end", None, operation):
            self.released.put_nowait(operation.allocation)

    async def ask(
        self,
        http: httpx2.AsyncClient,
        rng: random.Random,
        path: str,
        key: str,
        body: dict[str, object] | None,
        operation: Operation,
    ) -> httpx2.Response | None:
        """A definite answer, from whichever replica gives it; None if none does in time."""
        headers = {"Authorization": f"Bearer {self.token}", "Idempotency-Key": key}
        first = rng.randrange(len(self.replicas))
        while time.monotonic() < self.ends_at + PATIENCE_S:
            replica = self.replicas[(first + operation.attempts) % len(self.replicas)]
            operation.attempts += 1
            try:
                url = f"{replica.address}{path}"
                answer = await http.post(url, json=body, headers=headers)
            except httpx2.ConnectError:
                await asyncio.sleep(0.02)  # a replica that is being started tells nobody here
                continue
            except httpx2.TransportError:
                operation.broken += 1
                continue
            if answer.status_code not in PERHAPS:
                return answer
        return None

    async def clean(self) -> None:
        """The site: proves the cleanup of what was released."""
        while True:
            order = await self.stage.order(await self.released.get())
            node = self.stage.nodes[order.node_id]
            made = [proofs.make(proofs.GOOD, order, at, node) for at in range(len(order.slots))]
            try:
                await self.stage.report(proofs.report(order, [signed for signed in made if signed]))
            except asyncpg.UniqueViolationError as error:  # two claims of one slot and fence
                self.refused.append(f"the database refused a proof: {error}")
            self.released.task_done()

    async def kill(self) -> None:
        """One replica at a time, at any moment; it starts again at once."""
        while not self.over:
            victim = self.rng.choice(self.replicas)
            await asyncio.sleep(self.rng.uniform(0.2, 1.5))
            await victim.kill()
            self.kills += 1
            await victim.start()


async def run(
    url: str,
    folder: Path,
    *,
    seconds: float,
    seed: int,
    kill: bool = True,
    plant: Callable[[Stage], Awaitable[None]] | None = None,
) -> Result:
    """A whole race on a fresh database, and what is wrong with its outcome."""
    async with replicas.running(url, folder) as started:
        scene = await stage.open_stage(url)
        try:
            await scene.build(NODES, {"racers": None})
            await scene.approve_all()
            if plant is not None:
                await plant(scene)
            tenant = scene.actors["racers"].tenant_id
            key = await scene.run(
                lambda tx: keys.create(tx, ADMIN, tenant_id=tenant, name="race", role="member")
            )
            began = time.monotonic()
            race = Race(scene, started, key.token, random.Random(seed), began + seconds)
            await race.run(kill=kill)
            took_s = time.monotonic() - began
            return await _judge(race, took_s)
        finally:
            await scene.database.close()


async def _judge(race: Race, took_s: float) -> Result:
    claims = [Claim(c.slot, c.fence, c.lease) for c in await race.stage.claims()]
    violations = await race.stage.violations()
    problems = [*race.refused, *history.check(race.history, claims)]
    problems += [f"invariant {name}: {count} rows" for name, count in violations.items()]
    broken = sum(operation.broken for operation in race.history.operations)
    times = sorted(race.latencies_ms)
    return Result(race.history, claims, problems, took_s, race.kills, broken, times)
