"""Both links of a real site, without its workflows: joined, dialling central, serving nodes."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from penstock.kernel import db, loops
from penstock.kernel.db import Database
from penstock.kernel.wakeups import Wakeups
from penstock.local import ports
from penstock.site import kinds, uplink
from penstock.site.documents.service import Decode
from penstock.site.downlink import NodeLinks
from penstock.site.settings import SiteSettings
from penstock.site.tasks.service import Tasks
from penstock_contracts import membership
from penstock_contracts.join import JoinToken
from penstock_contracts.membership import Member

from . import stand_in_site
from .plane import Central


@dataclass
class SitePlane:
    central: Central
    member: Member
    database: Database
    kinds: Mapping[str, Decode]

    async def node_token(self) -> JoinToken:
        """Good from now on: the site has central's permission."""
        path = f"/v1/sites/{self.member.id}/node-tokens"
        issued = await self.central.platform.made(path, count=1)
        token = JoinToken.decode(issued["items"][0]["token"])
        await self.until("SELECT 1 FROM node_tokens WHERE id = $1", token.id)
        return token

    async def node(self, folder: Path, name: str = "n1") -> Member:
        return await membership.join(folder, await self.node_token(), name)

    async def value(self, sql: str, *args: object) -> object:
        async with self.database.transaction() as tx:
            return await tx.fetchval(sql, *args)

    async def until(self, sql: str, *args: object) -> None:
        async with asyncio.timeout(20):
            while await self.value(sql, *args) is None:  # noqa: ASYNC110 the site tells nobody
                await asyncio.sleep(0.02)


@asynccontextmanager
async def running(
    central: Central, url: str, folder: Path, name: str
) -> AsyncGenerator[SitePlane, None]:
    member = await stand_in_site.joined(central, folder, name)
    async with serving(central, url, member) as site:
        yield site


@asynccontextmanager
async def serving(central: Central, url: str, member: Member) -> AsyncGenerator[SitePlane, None]:
    taken: list[int] = []
    for _ in range(2):
        taken.append(ports.pick(taken))
    join, link = (ports.address(port) for port in taken)
    seen = await central.value("SELECT coalesce(max(seq), 0) FROM events")
    settings = SiteSettings.model_validate(
        {"database_url": url, "data": member.folder, "join_listen": join, "link_listen": link}
    )
    database, wakeups = await db.connect(url, "site"), Wakeups(url)
    tasks = Tasks(database, wakeups, member.key, deadline=timedelta(seconds=60))
    known = kinds.load(tasks).decoders
    async with AsyncExitStack() as stack:
        stack.push_async_callback(database.close)
        working = [asyncio.create_task(wakeups.listen())]
        stack.push_async_callback(_stop, working)
        await wakeups.listening.wait()
        await database.run(lambda tx: uplink.describe(tx, settings.join_address))
        await stack.enter_async_context(
            NodeLinks(database, wakeups, settings, member, tasks).listen()
        )
        dialling = uplink.loop(database, wakeups, url, settings.executor, member, known)
        working.append(asyncio.create_task(loops.keep(dialling)))
        await central.until(member.id, "site.described", after=seen)
        yield SitePlane(central, member, database, known)


async def _stop(working: "list[asyncio.Task[None]]") -> None:
    for task in working:
        task.cancel()
    await asyncio.wait(working)
