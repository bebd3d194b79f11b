"""A rolling restart: told to end, a central under load answers everybody properly."""

import asyncio
import signal
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx2
import pytest
from websockets.asyncio.client import connect

from . import callers
from .callers import LEASE, Scene

pytestmark = pytest.mark.anyio

CLIENTS: Final = 24
PROPER: Final = {201: "application/json", 409: "application/problem+json"}


@dataclass
class Load:
    """What clients were told, and when they have been told much."""

    told: list[httpx2.Response] = field(default_factory=list[httpx2.Response])
    much: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, answer: httpx2.Response) -> None:
        self.told.append(answer)
        if len(self.told) > 4 * CLIENTS:
            self.much.set()


async def ask_on(scene: Scene, number: int, load: Load) -> None:
    """Ask again and again, until nobody is there any more."""
    async with scene.client() as client:
        for count in range(10_000):
            headers = {"Idempotency-Key": f"{number}-{count}"}
            try:
                load.add(await client.post("/v1/allocations", json=LEASE, headers=headers))
            except httpx2.TransportError:
                return


async def follow(scene: Scene) -> str:
    """The last words of an event stream."""
    lines: list[str] = []
    async with scene.client() as client, client.stream("GET", "/v1/events") as stream:
        async for line in stream.aiter_lines():
            lines += [line] if line else []
    return lines[-1]


async def listen(scene: Scene) -> tuple[int, str]:
    """How a WebSocket was closed."""
    address = scene.replica.address.replace("http:", "ws:") + "/v1/ws"
    async with connect(address, additional_headers=scene.headers, proxy=None) as socket:
        await socket.wait_closed()
        return socket.close_code or 0, socket.close_reason or ""


async def until_not_ready(scene: Scene) -> None:
    async with asyncio.timeout(10), scene.client() as client:
        while (answer := await client.get("/readyz")).status_code == 200:  # noqa: ASYNC110 it is asked
            await asyncio.sleep(0.01)
        assert "stopping" in answer.json()["failed"]


async def test_everybody_is_answered_properly(central_url: str, tmp_path: Path) -> None:
    load = Load()
    async with callers.central(central_url, tmp_path) as scene:
        reading, hearing = asyncio.create_task(follow(scene)), asyncio.create_task(listen(scene))
        asking = [asyncio.create_task(ask_on(scene, n, load)) for n in range(CLIENTS)]
        async with asyncio.timeout(30):
            await load.much.wait()
        scene.tell(signal.SIGTERM)
        await until_not_ready(scene)
        async with asyncio.timeout(30):
            await asyncio.gather(*asking)
            assert "restarted" in await reading
            code, reason = await hearing
        assert scene.replica.process is not None
        assert await scene.replica.process.wait() == 0
        leased = await scene.leased()
    assert (code, "restarted" in reason) == (1012, True)
    statuses = Counter(answer.status_code for answer in load.told)
    assert statuses.keys() <= {201, 409, 503}, statuses
    for answer in load.told:
        if answer.status_code == 503:
            assert answer.json()["code"] == "restarting"
            assert answer.headers["retry-after"] == "1"
            assert answer.headers["connection"] == "close"
        else:
            assert answer.headers["content-type"] == PROPER[answer.status_code]
    assert leased == statuses[201], "a lease that nobody was told of"
    assert "Exception in ASGI" not in scene.replica.last_words()


async def test_it_serves_on_while_balancers_learn_that_it_ends(
    central_url: str, tmp_path: Path
) -> None:
    async with callers.central(central_url, tmp_path, stop_linger_s="2") as scene:
        scene.tell(signal.SIGTERM)
        await until_not_ready(scene)
        async with scene.client() as client:
            answer = await client.post("/v1/allocations", json=LEASE)
        assert (answer.status_code, answer.headers["connection"]) == (201, "close")
        assert scene.replica.process is not None
        assert await scene.replica.process.wait() == 0


async def test_who_is_in_a_batch_gets_its_lease_and_who_waits_is_told_to_ask_again(
    central_url: str, tmp_path: Path
) -> None:
    async with callers.central(central_url, tmp_path, stop_linger_s="0") as scene:
        scene.arm("central.placement.before_commit", "stop")
        in_batch = await scene.call("in-batch")
        await scene.until_stopped()
        waits = await scene.call("waits")
        scene.tell(signal.SIGTERM)
        scene.tell(signal.SIGCONT)
        assert (await in_batch.answer())[0] == 201
        status, told = await waits.answer()
        if status == 201:  # it was in time for one more batch
            assert await scene.leased() == 2
            return
        assert (status, told["code"]) == (503, "restarting")
        assert await scene.leased() == 1
