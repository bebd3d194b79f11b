"""A real central in this process: its own ports, its own folder, the ready protocol."""

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import asyncpg
import httpx2
import orjson
from logins import superuser_url

from penstock.central import app
from penstock.central.settings import CentralSettings
from penstock.kernel import db, invariants
from penstock.kernel.db import Database
from penstock.local import ports

TOKEN: Final = "pk_platform_of_the_tests"
Json = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> Json:
        return orjson.loads(self.raw)

    @property
    def code(self) -> str:
        return str(self.json["code"])

    @property
    def items(self) -> list[Json]:
        return self.json["items"]


class Api:
    """One caller: a token, and the verbs that tests need."""

    def __init__(self, client: httpx2.AsyncClient, token: str | None) -> None:
        self.client = client
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    async def send(self, method: str, path: str, **arguments: Any) -> Answer:
        headers = {**self.headers, **arguments.pop("headers", {})}
        response = await self.client.request(method, path, headers=headers, **arguments)
        return Answer(response.status_code, response.headers, response.content)

    async def get(self, path: str, **parameters: Any) -> Answer:
        return await self.send("GET", path, params=parameters or None)

    async def post(self, path: str, **body: object) -> Answer:
        return await self.send("POST", path, json=body or None)

    async def put(self, path: str, **body: object) -> Answer:
        return await self.send("PUT", path, json=body)

    async def delete(self, path: str, **parameters: Any) -> Answer:
        return await self.send("DELETE", path, params=parameters or None)

    async def post_once(self, key: str, path: str, **body: object) -> Answer:
        """With an Idempotency-Key."""
        return await self.send("POST", path, json=body, headers={"Idempotency-Key": key})

    async def made(self, path: str, **body: object) -> Json:
        answer = await self.post(path, **body)
        assert answer.status in (200, 201, 202), answer.json
        return answer.json


@dataclass
class Tenant:
    id: str
    project: str
    admin: Api
    member: Api
    viewer: Api

    @property
    def apis(self) -> dict[str, Api]:
        return {"admin": self.admin, "member": self.member, "viewer": self.viewer}


@dataclass
class Central:
    settings: CentralSettings
    database: Database
    client: httpx2.AsyncClient
    platform: Api = field(init=False)

    def __post_init__(self) -> None:
        self.platform = self.caller(TOKEN)

    def caller(self, token: str | None) -> Api:
        return Api(self.client, token)

    async def tenant(self, name: str, gpus_max: int | None = None) -> Tenant:
        made = await self.platform.made("/v1/tenants", name=name)
        if gpus_max is not None:
            granted = await self.platform.put("/v1/quotas", tenant=made["id"], gpus_max=gpus_max)
            assert granted.status == 200, granted.json
        roles: dict[str, Api] = {}
        for role in ("admin", "member", "viewer"):
            path = f"/v1/tenants/{made['id']}/keys"
            key = await self.platform.made(path, name=role, role=role)
            roles[role] = self.caller(key["token"])
        project = await roles["admin"].made("/v1/projects", name="main")
        return Tenant(made["id"], project["id"], **roles)

    async def rows(self, sql: str, *args: object) -> list[Json]:
        async with self.database.transaction() as tx:
            return [dict(row) for row in await tx.fetch(sql, *args)]

    async def value(self, sql: str, *args: object) -> Any:
        async with self.database.transaction() as tx:
            return await tx.fetchval(sql, *args)

    async def execute(self, sql: str, *args: object) -> None:
        async with self.database.transaction() as tx:
            await tx.execute(sql, *args)

    async def backdate(self, allocation: str, at: datetime) -> None:
        """As if what was asked of the lease so far had been asked then."""
        await self.execute(
            """
            UPDATE allocations SET placed_at = least(placed_at, $2), desired_at = $2 WHERE id = $1
            """,
            allocation,
            at,
        )

    async def until(self, subject: str, *types: str, after: int = 0) -> str:
        """Which of these events came first for the subject, ever or after this one."""
        headers = {**self.platform.headers, "Last-Event-ID": str(after)}
        wanted = {f"event: {type}": type for type in types}
        path = f"/v1/events?subject={subject}"
        async with asyncio.timeout(20), self.client.stream("GET", path, headers=headers) as stream:
            async for line in stream.aiter_lines():
                if line in wanted:
                    return wanted[line]
        raise AssertionError(f"the events of {subject} ended")

    async def violations(self) -> dict[str, int]:
        async with self.database.transaction() as tx:
            return {i.name: i.violations for i in await invariants.check(tx) if i.violations}


@asynccontextmanager
async def running(url: str, folder: Path, **changes: object) -> AsyncGenerator[Central, None]:
    """Central, ready; stopped when the block ends."""
    chosen = settings(url, folder, **changes)
    serving = asyncio.create_task(_serve(chosen))
    await _ready(serving)
    database = await db.connect(url, "central", size=4)
    client = httpx2.AsyncClient(
        base_url=f"http://{chosen.http_listen}", timeout=20.0, trust_env=False
    )
    try:
        yield Central(chosen, database, client)
    finally:
        await client.aclose()
        await database.close()
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


def settings(url: str, folder: Path, **changes: object) -> CentralSettings:
    folder.mkdir(parents=True, exist_ok=True)
    token = folder / "bootstrap-token"
    token.write_text(TOKEN)
    taken: list[int] = []
    for _ in range(4):
        taken.append(ports.pick(taken))
    http, join, link, metrics = (ports.address(port) for port in taken)
    values: dict[str, object] = {
        "database_url": url,
        "data": folder,
        "http_listen": http,
        "join_listen": join,
        "link_listen": link,
        "metrics_listen": metrics,
        "bootstrap_token_file": token,
        "sweep_every_s": 86_400,  # nothing is deleted behind the back of a test that counts rows
    }
    return CentralSettings.model_validate({**values, **changes})


async def _serve(chosen: CentralSettings) -> None:
    await app.serve(chosen)


async def _ready(serving: "asyncio.Task[None]") -> None:
    """Wait for the line that a plane writes when it is ready, or for its failure."""
    loop = asyncio.get_running_loop()
    read, write = os.pipe()
    os.environ["PENSTOCK_READY_FD"] = str(write)
    told = asyncio.Event()
    loop.add_reader(read, told.set)
    hearing = asyncio.create_task(told.wait())
    try:
        await asyncio.wait({serving, hearing}, return_when=asyncio.FIRST_COMPLETED, timeout=30)
        if serving.done():
            os.close(write)
            serving.result()
        assert told.is_set(), "central was not ready within 30 s"
    finally:
        hearing.cancel()
        loop.remove_reader(read)
        os.close(read)
        os.environ.pop("PENSTOCK_READY_FD", None)


async def as_superuser(url: str, sql: str, *args: object) -> None:
    """What nobody but an intruder would do."""
    connection = await asyncpg.connect(superuser_url(url))
    try:
        await connection.execute(sql, *args)
    finally:
        await connection.close()
