"""R25: a tenant floods a real central; the others are served, and it recovers at once."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2
import pytest

from .replicas import Replica

pytestmark = pytest.mark.anyio

ROOM: Final = 20
FLOOD: Final = 120  # requests at once, six times what there is room for
CALLS: Final = 12  # of the quiet tenant, meanwhile
GROWTH_MIB_MAX: Final = 100
TOKEN: Final = "pk_platform_of_the_flood"


@dataclass(frozen=True)
class Caller:
    client: httpx2.AsyncClient
    token: str

    async def get(self, path: str) -> httpx2.Response:
        return await self.client.get(path, headers={"Authorization": f"Bearer {self.token}"})

    async def made(self, path: str, **body: str) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = await self.client.post(path, json=body, headers=headers)
        assert answer.status_code == 201, answer.text
        return answer.json()


@dataclass(frozen=True)
class Scene:
    replica: Replica
    client: httpx2.AsyncClient
    loud: Caller
    quiet: Caller

    def memory_mib(self) -> int:
        assert self.replica.process is not None
        status = Path(f"/proc/{self.replica.process.pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS:")]
        return int(line.split()[1]) // 1024


@pytest.fixture
async def scene(central_url: str, tmp_path: Path) -> AsyncGenerator[Scene, None]:
    replica = Replica("central-1", central_url, tmp_path)
    (tmp_path / "token").write_text(TOKEN)
    replica.environment |= {
        "PENSTOCK_CENTRAL_BOOTSTRAP_TOKEN_FILE": str(tmp_path / "token"),
        "PENSTOCK_CENTRAL_REQUESTS_MAX": str(ROOM),
    }
    limits = httpx2.Limits(max_connections=FLOOD * 2)
    try:
        await replica.start()
        async with httpx2.AsyncClient(
            base_url=replica.address, limits=limits, timeout=60, trust_env=False
        ) as client:
            platform = Caller(client, TOKEN)
            callers = [await tenant(platform, name) for name in ("loud", "quiet")]
            yield Scene(replica, client, *callers)
    finally:
        await replica.kill()


async def tenant(platform: Caller, name: str) -> Caller:
    made = await platform.made("/v1/tenants", name=name)
    key = await platform.made(f"/v1/tenants/{made['id']}/keys", name="k", role="admin")
    caller = Caller(platform.client, key["token"])
    assert (await caller.get("/v1/me")).status_code == 200
    return caller


async def test_a_flooding_tenant_is_shed_and_another_is_served(scene: Scene) -> None:
    statuses: Counter[int] = Counter()
    retry_after: set[str] = set()
    over = asyncio.Event()

    async def flood() -> None:
        while not over.is_set():
            answer = await scene.loud.get("/v1/projects")
            statuses[answer.status_code] += 1
            if answer.status_code == 503:
                assert answer.json()["code"] == "overloaded"
                retry_after.add(answer.headers["retry-after"])

    before_mib = scene.memory_mib()
    async with asyncio.TaskGroup() as group:
        for _ in range(FLOOD):
            group.create_task(flood())
        quiet: Counter[int] = Counter()
        for _ in range(CALLS):
            quiet[(await scene.quiet.get("/v1/projects")).status_code] += 1
            assert (await scene.client.get("/healthz")).status_code == 200
        over.set()
    assert quiet == {200: CALLS}
    assert statuses.keys() == {200, 503}
    assert statuses[503] > FLOOD
    assert retry_after == {"1"}
    assert scene.memory_mib() < before_mib + GROWTH_MIB_MAX
    # When the flood is over there is room again for who caused it.
    again = await asyncio.gather(*(scene.loud.get("/v1/projects") for _ in range(ROOM // 2)))
    assert {answer.status_code for answer in again} == {200}
    print(f"loud: {dict(statuses)}, quiet: {dict(quiet)}")


async def hold(scene: Scene, caller: Caller) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Begin a request and keep it in progress: its body is not all there yet."""
    host, _, port = scene.replica.address.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = ["POST /v1/projects HTTP/1.1", "Host: x", f"Authorization: Bearer {caller.token}"]
    writer.write("\r\n".join([*lines, "Content-Length: 2", "", "{"]).encode())
    return reader, writer


async def test_a_share_is_exactly_what_leaves_room_for_others(scene: Scene) -> None:
    held = [await hold(scene, scene.loud) for _ in range(ROOM)]
    answers = [asyncio.create_task(reader.readline()) for reader, _ in held]
    refused: set[asyncio.Task[bytes]] = set()
    while len(refused) < ROOM // 5:
        done, _ = await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED, timeout=10)
        refused |= done
        answers = [answer for answer in answers if answer not in done]
    assert {answer.result().split()[1] for answer in refused} == {b"503"}
    assert (await scene.loud.get("/v1/me")).status_code == 503
    calls = [scene.quiet.get("/v1/me") for _ in range(3)]
    assert [(await call).status_code for call in calls] == [200] * 3
    assert (await scene.client.get("/readyz")).status_code == 200
    for _, writer in held:
        writer.write(b"}")
    assert {line.split()[1] for line in await asyncio.gather(*answers)} == {b"422"}
    assert (await scene.loud.get("/v1/me")).status_code == 200
    for _, writer in held:
        writer.close()


async def test_streams_do_not_take_the_room_of_requests(scene: Scene) -> None:
    async with asyncio.TaskGroup() as group:
        opened = [asyncio.Event() for _ in range(ROOM * 2)]
        over = asyncio.Event()

        async def watch(told: asyncio.Event) -> None:
            headers = {"Authorization": f"Bearer {scene.loud.token}"}
            async with scene.client.stream("GET", "/v1/events", headers=headers) as answer:
                assert answer.status_code == 200
                told.set()
                await over.wait()

        for event in opened:
            group.create_task(watch(event))
        for event in opened:
            await event.wait()
        assert (await scene.loud.get("/v1/me")).status_code == 200
        over.set()
