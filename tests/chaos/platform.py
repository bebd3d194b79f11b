"""A whole platform of real processes: Postgres, central, a site, an agent with one node."""

import json
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, LiteralString

from penstock.local import bootstrap, children, folder, memory, ports, tokens
from penstock.local.keeper import Child
from penstock.local.memory import Memory
from penstock.local.options import Options
from penstock.local.postgres import EmbeddedPostgres
from penstock.local.profile import Profile
from penstock_client.api import Client
from penstock_client.http import Http
from penstock_client.views.allocations import Allocation
from penstock_client.views.fleet import JoinToken

from . import watching
from .program import Program

PROFILE: Final = Profile("h100-8", "h100", 8)
MEMORY: Final = Path("/dev/shm")
# Killed, Postgres loses what it was not asked to write down: nothing else writes it meanwhile.
SETTINGS: Final = {"fsync": "off", "shared_buffers": "32MB", "wal_writer_delay": "10s"}

Fault = Mapping[str, object]


class Platform:
    def __init__(
        self,
        site_environment: Mapping[str, str] | None = None,
        central_environment: Mapping[str, str] | None = None,
    ) -> None:
        within = MEMORY if MEMORY.is_dir() else None
        self.data = Path(tempfile.mkdtemp(prefix="penstock-chaos-", dir=within))
        self.data.chmod(0o711)
        self.points = self.data / "failpoints"
        self.points.mkdir()
        self.postgres = EmbeddedPostgres(self.data / "postgres", SETTINGS)
        self.central_up = threading.Event()
        # Agents are killed again and again here: their links need not hold first.
        self._site_environment = {"PENSTOCK_SITE_LINK_HOLD_S": "0", **(site_environment or {})}
        self._central_environment = dict(central_environment or {})
        self._started: list[Program] = []

    # ------------------------------------------------------------- start, stop

    def start(self) -> None:
        """Start everything; returns when the node can be leased from."""
        self.postgres.start()
        api_port = ports.pick()
        self.ports = memory.settle_ports(Memory(PROFILE.name), api_port)
        api, token = f"http://{ports.address(api_port)}", folder.admin_token(self.data)
        logins = self.postgres.logins
        central = children.central(self.data, logins("central"), api_port, self.ports)
        central = replace(central, environment={**central.environment, **self._central_environment})
        site = children.site(self.data, logins("site"), self.ports)
        site = replace(site, environment={**site.environment, **self._site_environment})
        self.central, self.site = self.program(central), self.program(site)
        self.agent = self.program(children.agents(self._agent_options(), self.ports))
        self.client = Client(api, token, transport=Http(api, token, pause=self._pause))
        self.start_central()
        self.place = bootstrap.ensure(self.client, PROFILE)
        self._start_site()
        self._start_agent()

    def program(self, child: Child) -> Program:
        made = Program(child, self.data / f"{child.name}.log", self.points)
        self._started.append(made)
        return made

    def stop(self) -> None:
        for program in reversed(self._started):
            program.end()
        self.postgres.stop()
        pointer = self.data / "postgres" / "elsewhere"
        if pointer.exists():
            shutil.rmtree(pointer.read_text().strip(), ignore_errors=True)
        shutil.rmtree(self.data, ignore_errors=True)

    def start_central(self) -> None:
        self.central.start()
        self.central_up.set()

    def kill_central(self) -> None:
        self.central_up.clear()
        self.central.kill()

    def restart(self, program: Program) -> None:
        """Start a dead program again."""
        self.start_central() if program is self.central else program.start()

    def restart_agent(
        self,
        faults: Sequence[Fault] = (),
        delay_ms: int = 0,
        health: Sequence[Mapping[str, object]] = (),
    ) -> None:
        """With faults to inject, each counted anew, and checks that do not pass."""
        named = [{"id": f"{time.monotonic_ns()}-{i}", **fault} for i, fault in enumerate(faults)]
        self._faults_file.write_text(json.dumps({"faults": named, "health": list(health)}))
        self.agent.kill()
        self.agent.child = children.agents(self._agent_options(delay_ms), self.ports)
        self.agent.start()
        self.settle()

    def restart_site(self, **environment: str) -> None:
        """With other settings than usual; without any, as usual."""
        usual = {**self.site.child.environment, "PENSTOCK_SITE_TASK_DEADLINE_S": "600"}
        self.site.child = replace(self.site.child, environment={**usual, **environment})
        self.site.restart()
        self.settle()

    def _start_site(self) -> None:
        def issue(_count: int) -> list[JoinToken]:
            return [self.client.sites.create_token(self.place.site)]

        tokens.write_for_site(self.data / "site", issue)
        self.site.start()
        self.until_central("SELECT 1 FROM sites WHERE connected AND join_address <> ''")

    def _start_agent(self) -> None:
        def issue(count: int) -> list[JoinToken]:
            return self.client.sites.create_node_tokens(self.place.site, count=count)["items"]

        tokens.write_for_nodes(self.data / "agent", 1, issue)
        self._faults_file.write_text('{"faults": []}')
        self.agent.start()
        self.until_central("SELECT 1 FROM events WHERE type = 'node.schedulable'")

    @property
    def _faults_file(self) -> Path:
        return self.data / "faults.json"

    def _agent_options(self, delay_ms: int = 0) -> Options:
        return Options(
            self.data, 0, 1, PROFILE.name, False, delay_ms or None, self._faults_file, None
        )

    def _pause(self, seconds: float) -> None:
        """Between two tries of a request: as long as the client says, and until central is up."""
        time.sleep(seconds)
        self.central_up.wait(watching.WAIT_S_MAX)

    # ----------------------------------------------------------------- leases

    def lease(self, gpus: int = 2) -> str:
        """Ask for GPUs, again with the same key while central does not answer."""
        sku, place = PROFILE.slice_sku, self.place
        asked = self.client.allocations.create(project=place.project, sku=sku, gpus=gpus)
        return asked["id"]

    def lease_whole_node(self) -> str:
        sku, place = PROFILE.metal_sku, self.place
        return self.client.allocations.create(project=place.project, sku=sku)["id"]

    def wait_for_room(self, gpus: int = 2) -> str:
        sku, place = PROFILE.slice_sku, self.place
        asked = self.client.allocations.create(
            project=place.project, sku=sku, gpus=gpus, queue=True
        )
        return asked["id"]

    def release(self, id: str) -> None:
        self.client.allocations.release(id)

    def show(self, id: str) -> Allocation:
        return self.client.allocations.get(id)

    def until_active(self, id: str) -> None:
        self.until_central("SELECT 1 FROM allocations WHERE id = %s AND observed = 'active'", id)

    def until_freed(self, id: str) -> None:
        """Released or failed, and every slot proven clean."""
        self.until_central("SELECT 1 FROM allocations WHERE id = %s AND freed_at IS NOT NULL", id)

    def until_blocked(self, id: str) -> str:
        """Why its cleanup is blocked."""
        (reason,) = self.until_central(
            "SELECT blocked_reason FROM claims "
            "WHERE allocation_id = %s AND freed_at IS NULL AND blocked_reason <> ''",
            id,
        )
        return str(reason)

    # -------------------------------------------------------------- databases

    @property
    def central_url(self) -> str:
        return self.postgres.url("central", role="postgres")

    @property
    def site_url(self) -> str:
        return self.postgres.url("site", role="postgres")

    def until_central(self, sql: LiteralString, *args: object) -> watching.Row:
        return watching.until(self.central_url, sql, *args)

    def until_site(self, sql: LiteralString, *args: object) -> watching.Row:
        return watching.until(self.site_url, sql, *args)

    def settle(self) -> None:
        """Return when nothing is under way: the node is there, and central has heard all."""
        self.until_site(
            "SELECT 1 FROM nodes WHERE connected"
            " AND NOT EXISTS (SELECT FROM tasks WHERE result IS NULL)"
        )
        ((said,),) = watching.rows(
            self.site_url, "SELECT seq FROM feed_heads WHERE feed = 'central'"
        )
        self.until_central(
            "SELECT 1 FROM feed_cursors, sites, nodes"
            " WHERE feed_cursors.seq >= %s AND sites.connected AND nodes.connected",
            said,
        )

    # ------------------------------------------------------------- failpoints

    def arm(self, point: str, action: str) -> None:
        (self.points / f"{point}.hit").unlink(missing_ok=True)
        draft = self.points / f".{point}"
        draft.write_text(action)
        draft.rename(self.points / point)

    def hit(self, point: str) -> bool:
        return (self.points / f"{point}.hit").exists()

    def disarm_all(self) -> None:
        for armed in self.points.iterdir():
            armed.unlink()

    def victim(self, point: str) -> Program:
        """The process that a failpoint is in."""
        return {"central": self.central, "site": self.site, "agent": self.agent}[
            point.partition(".")[0]
        ]
