"""The platform on this machine: its parts started in order, stopped in reverse."""

import asyncio
import os
from dataclasses import dataclass, replace
from typing import Final

from penstock.local import (
    bootstrap,
    children,
    fleet,
    folder,
    inspection,
    memory,
    ports,
    profile,
    tokens,
)
from penstock.local.bootstrap import Platform
from penstock.local.database import KeptDatabase
from penstock.local.errors import Refused
from penstock.local.memory import Memory
from penstock.local.options import Options
from penstock.local.postgres import EmbeddedPostgres, Logins
from penstock.local.profile import Profile
from penstock.local.pump import EventPump
from penstock.local.screen import Screen
from penstock.local.supervisor import Supervisor
from penstock_client.api import Client
from penstock_client.views.fleet import JoinToken

CENTRAL_URL: Final = "PENSTOCK_CENTRAL_DATABASE_URL"
SITE_URL: Final = "PENSTOCK_SITE_DATABASE_URL"
CENTRAL_OWNER: Final = "PENSTOCK_CENTRAL_OWNER_URL"
SITE_OWNER: Final = "PENSTOCK_SITE_OWNER_URL"
TOKENS_AT_ONCE: Final = 100


@dataclass(frozen=True)
class Databases:
    central: Logins
    site: Logins


@dataclass(frozen=True)
class Running:
    """A platform that is up."""

    api: str
    admin_token: str
    profile: Profile
    platform: Platform
    client: Client
    pump: EventPump


class Stack:
    def __init__(self, options: Options, screen: Screen) -> None:
        self._options = replace(options, data=options.data.resolve())
        self._data = self._options.data
        self._screen = screen
        self._supervisor = Supervisor(self._data / "logs", screen.wrote, screen.told)
        self._database: KeptDatabase | None = None
        self._pump: EventPump | None = None

    async def start(self) -> Running:
        """Start everything; returns when every node that comes can be leased from."""
        options, data = self._options, self._data
        hardware = await profile.check(options.hardware, data / "agent", options.faults)
        embedded = CENTRAL_URL not in os.environ
        await asyncio.to_thread(inspection.refuse_damage, data, embedded=embedded)
        remembered = memory.recall(data, hardware.name)
        api_port = _api_port(options.port, remembered)
        remembered = memory.settle_ports(remembered, api_port)
        memory.keep(data, remembered)
        self._screen.line(f"Penstock on this machine, in {data}")
        api, token = f"http://{ports.address(api_port)}", folder.admin_token(data)

        databases = await self._start_database()
        with self._screen.step("central"):
            child = children.central(data, databases.central, api_port, remembered)
            await self._supervisor.start(child)
        client = Client(api, token)
        with self._screen.step(f"tenant {bootstrap.TENANT}, project, site, SKUs"):
            platform = await asyncio.to_thread(bootstrap.ensure, client, hardware)
        self._pump = EventPump(Client(api, token), data / "events-seen")
        self._pump.start()
        await self._start_site(client, platform, databases.site, remembered, self._pump)
        await self._start_agents(client, platform, remembered, self._pump)
        return Running(api, token, hardware, platform, client, self._pump)

    async def stop(self) -> None:
        if self._pump:
            self._pump.stop()
        await self._supervisor.stop()
        if self._database:
            await self._database.stop()

    def hurry(self) -> None:
        self._supervisor.hurry()

    async def _start_database(self) -> Databases:
        central, site = os.environ.get(CENTRAL_URL), os.environ.get(SITE_URL)
        if central and site:
            return Databases(
                Logins(central, os.environ.get(CENTRAL_OWNER)),
                Logins(site, os.environ.get(SITE_OWNER)),
            )
        if central or site:
            raise Refused(f"set both {CENTRAL_URL} and {SITE_URL}, or neither")
        server = EmbeddedPostgres(self._data / "postgres", bin_folder=self._options.postgres_bin)
        self._database = KeptDatabase(server, lambda line: self._screen.told("postgres", line))
        with self._screen.step("Postgres"):
            await self._database.start()
        return Databases(server.logins("central"), server.logins("site"))

    async def _start_site(
        self,
        client: Client,
        platform: Platform,
        database: Logins,
        remembered: Memory,
        pump: EventPump,
    ) -> None:
        def issue(_count: int) -> list[JoinToken]:
            return [client.sites.create_token(platform.site)]

        with self._screen.step(f"site {bootstrap.SITE}"):
            await asyncio.to_thread(tokens.write_for_site, self._data / "site", issue)
            await self._supervisor.start(children.site(self._data, database, remembered))
            await fleet.until_connected(client, pump, platform.site)

    async def _start_agents(
        self, client: Client, platform: Platform, remembered: Memory, pump: EventPump
    ) -> None:
        def issue(count: int) -> list[JoinToken]:
            issued: list[JoinToken] = []
            while len(issued) < count:
                wanted = min(count - len(issued), TOKENS_AT_ONCE)
                page = client.sites.create_node_tokens(platform.site, count=wanted)
                issued += page["items"]
            return issued

        nodes, hardware = self._options.nodes, self._options.hardware
        with self._screen.step(f"{nodes} × {hardware}: agents join"):
            await asyncio.to_thread(tokens.write_for_nodes, self._data / "agent", nodes, issue)
            await self._supervisor.start(children.agents(self._options, remembered))
        with self._screen.step(f"{nodes} × {hardware}: slots approved") as step:

            def progress(ready: int) -> None:
                step.title = f"{nodes} × {hardware}: slots approved ({ready})"

            names = [tokens.node_name(number) for number in range(1, nodes + 1)]
            missing = await fleet.until_ready(
                client, pump, platform.site, names, progress, self._screen.line
            )
            if not missing:
                step.title = f"{nodes} × {hardware}: slots approved"
        if missing:
            self._screen.line(
                f"Going on without {fleet.describe(missing)}. `penstock node ls` shows when they "
                "are back."
            )


def _api_port(asked: int, remembered: Memory) -> int:
    if asked == 0:
        return ports.pick(set(remembered.ports.values()))
    if why := ports.trouble(asked):
        raise Refused(f"{why}; choose another with --port (0 picks a free one)")
    return asked
