"""One central process with a fleet to lease from, and callers that may leave or wait."""

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2
import orjson

from penstock.central.access import keys
from penstock_contracts import failpoints

from . import stage
from .replicas import Replica
from .stage import ADMIN, Stage

STOPPED_S_MAX: Final = 30.0
LEASE: Final = {"project": "main", "sku": "slice", "gpus": 1}


@dataclass
class Call:
    """A request for a lease over a connection of its own."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def answer(self) -> tuple[int, dict[str, Any]]:
        head = await self.reader.readuntil(b"\r\n\r\n")
        (length,) = [
            int(line.partition(b":")[2])
            for line in head.splitlines()
            if line.lower().startswith(b"content-length:")
        ]
        body = await self.reader.readexactly(length)
        return int(head.split()[1]), orjson.loads(body)

    def leave(self) -> None:
        self.writer.close()

    def leave_by_half(self) -> None:
        """Say no more, and listen on."""
        self.writer.write_eof()


@dataclass
class Scene:
    replica: Replica
    stage: Stage
    token: str
    points: Path
    calls: list[Call] = field(default_factory=list[Call])

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            base_url=self.replica.address, headers=self.headers, timeout=60, trust_env=False
        )

    async def call(self, key: str) -> Call:
        """Connect and ask, and do not wait for the answer."""
        host, _, port = self.replica.address.removeprefix("http://").rpartition(":")
        call = Call(*await asyncio.open_connection(host, int(port)))
        self.calls.append(call)
        body = orjson.dumps(LEASE)
        lines = ["POST /v1/allocations HTTP/1.1", "Host: x", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        lines += [f"Idempotency-Key: {key}", "", ""]
        call.writer.write("\r\n".join(lines).encode() + body)
        await call.writer.drain()
        return call

    async def leased(self) -> int:
        (row,) = await self.stage.database.fetch("SELECT count(*) AS leases FROM allocations")
        leases: int = row["leases"]
        return leases

    def tell(self, number: signal.Signals) -> None:
        assert self.replica.process is not None
        self.replica.process.send_signal(number)

    async def until_stopped(self) -> None:
        """The kernel says that the process stands still."""
        async with asyncio.timeout(STOPPED_S_MAX):
            while not self.stopped():  # noqa: ASYNC110 a file does not tell
                await asyncio.sleep(0.01)

    def stopped(self) -> bool:
        assert self.replica.process is not None
        return "State:\tT" in Path(f"/proc/{self.replica.process.pid}/status").read_text()

    async def freeze(self) -> None:
        self.tell(signal.SIGSTOP)
        await self.until_stopped()

    def arm(self, point: str, action: str) -> None:
        draft = self.points / f".{point}"
        draft.write_text(action)
        draft.rename(self.points / point)


@asynccontextmanager
async def central(url: str, folder: Path, **settings: str) -> AsyncGenerator[Scene, None]:
    """Ready, and with room for sixteen leases of one GPU."""
    points = folder / "failpoints"
    points.mkdir()
    replica = Replica("central-1", url, folder)
    replica.environment[failpoints.FOLDER] = str(points)
    for name, value in settings.items():
        replica.environment[f"PENSTOCK_CENTRAL_{name.upper()}"] = value
    scene = Scene(replica, await stage.open_stage(url), "", points)
    try:
        await replica.start()
        await scene.stage.build((8, 8), {"callers": None})
        await scene.stage.approve_all()
        tenant = scene.stage.actors["callers"].tenant_id
        key = await scene.stage.run(
            lambda tx: keys.create(tx, ADMIN, tenant_id=tenant, name="calls", role="member")
        )
        scene.token = key.token
        yield scene
    finally:
        for call in scene.calls:
            call.leave()
        await replica.kill()
        await scene.stage.database.close()
