"""Central dies when Keycloak has done what it was asked, and before that is written down. The next
one asks again, and finds it done: one realm, one person, none left over."""

from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2
import pytest
from protocol.replicas import Replica

from penstock.kernel import db
from penstock_contracts import failpoints

from . import keycloak_emulator, plane, realm_hosts
from .keycloak_emulator import Emulator, Kept
from .plane import Central, Json
from .test_onboarding import ended

pytestmark = pytest.mark.anyio
ADA: Final = "ada@acme.example"
CALLED: Final = "central.realms.hosts.called"
STATE: Final = "SELECT desired, actual FROM hosted_realms"


@dataclass(frozen=True)
class Stage:
    """A central in a process of its own, seen from outside."""

    central: Central
    replica: Replica
    emulator: Emulator
    points: Path

    def arm(self, point: str) -> None:
        (self.points / point).write_text("kill")

    async def dies_at(self, point: str) -> None:
        assert self.replica.process is not None
        await self.replica.process.wait()
        assert (self.points / f"{point}.hit").exists(), self.replica.last_words()

    async def ask(self, path: str, **body: object) -> None:
        with suppress(httpx2.TransportError):  # it may die before it answers
            await self.central.platform.made(path, **body)

    async def onboard(self, **changes: object) -> None:
        file: Json = {"tenant": "acme", "admin": {"email": ADA}, "realm": "keycloak"}
        await self.ask("/v1/onboardings", **{**file, **changes})

    async def ended(self) -> Json:
        (begun,) = (await self.central.platform.get("/v1/onboardings")).items
        return await ended(self.central, begun["id"])

    async def state(self) -> list[tuple[str, str]]:
        return [(row["desired"], row["actual"]) for row in await self.central.rows(STATE)]

    @property
    def realm(self) -> Kept:
        """The one there is beside Keycloak's own."""
        assert set(self.emulator.realms) == {"master", "acme"}
        return self.emulator.realms["acme"]

    @property
    def people(self) -> list[str]:
        return sorted(str(user["email"]) for user in self.realm.users.values())


@pytest.fixture
async def stage(central_url: str, tmp_path: Path) -> AsyncGenerator[Stage, None]:
    points = tmp_path / "points"
    points.mkdir()
    replica = Replica("central-1", central_url, tmp_path)
    listen = replica.environment["PENSTOCK_CENTRAL_HTTP_LISTEN"]
    settings = plane.settings(central_url, tmp_path, http_listen=listen)
    async with (
        keycloak_emulator.running() as emulator,
        httpx2.AsyncClient(base_url=settings.url, timeout=20.0, trust_env=False) as client,
    ):
        replica.environment |= {
            "PENSTOCK_CENTRAL_BOOTSTRAP_TOKEN_FILE": str(settings.bootstrap_token_file),
            "PENSTOCK_CENTRAL_DRIVERS": str(realm_hosts.drivers_file(tmp_path, emulator)),
            failpoints.FOLDER: str(points),
        }
        database = await db.connect(central_url, "central", size=2)
        try:
            await replica.start()
            yield Stage(Central(settings, database, client), replica, emulator, points)
        finally:
            await replica.kill()
            await database.close()


async def test_a_realm_that_was_made_and_not_written_down_is_found(stage: Stage) -> None:
    stage.arm(CALLED)
    await stage.onboard()
    await stage.dies_at(CALLED)
    made = stage.realm
    assert await stage.state() == [("open", "none")], "nobody wrote it down"
    await stage.replica.start()
    done = await stage.ended()
    assert (done["status"], done["reason"]) == ("done", "")
    assert stage.realm is made, "it was not made again"
    assert made.about["attributes"] == {"penstock.tenant": done["tenant"]}
    assert set(made.clients) == {"penstock-cli", "penstock-portal"}
    assert stage.people == [ADA]
    assert await stage.state() == [("open", "open")]
    assert await stage.central.violations() == {}


async def test_whoever_was_invited_and_not_written_down_is_invited_once(stage: Stage) -> None:
    await stage.onboard()
    tenant = (await stage.ended())["tenant"]
    stage.arm(CALLED)
    await stage.ask("/v1/users/invite", email="eve@acme.example", role="member", tenant=tenant)
    await stage.dies_at(CALLED)
    sql = "SELECT count(*) FROM hosted_invitations"
    assert (await stage.central.value(sql), len(stage.people)) == (1, 2), "only Ada is written down"
    last = await stage.central.value("SELECT max(seq) FROM events")
    await stage.replica.start()
    await stage.central.until(tenant, "realm.guest_invited", after=last)
    assert stage.people == [ADA, "eve@acme.example"]
    assert await stage.central.value(sql) == 2


@pytest.mark.parametrize("verb", ["suspend", "resume"])
async def test_a_realm_that_was_shut_or_opened_and_not_written_down_is_so_in_the_end(
    stage: Stage, verb: str
) -> None:
    await stage.onboard()
    tenant = (await stage.ended())["tenant"]
    if verb == "resume":
        await stage.central.platform.made("/v1/realm/suspend", tenant=tenant, reason="stolen")
        await stage.central.until(tenant, "realm.host_suspended")
    stage.arm(CALLED)
    await stage.ask(f"/v1/realm/{verb}", tenant=tenant, reason="because")
    await stage.dies_at(CALLED)
    ((desired, actual),) = await stage.state()
    assert desired != actual, "nobody wrote it down"
    await stage.replica.start()
    told = "realm.host_suspended" if verb == "suspend" else "realm.host_resumed"
    await stage.central.until(tenant, told)
    assert stage.realm.about["enabled"] is (verb == "resume")
    assert await stage.state() == [(desired, desired)]


async def test_a_realm_that_was_removed_and_not_written_down_leaves_nothing(stage: Stage) -> None:
    """The network cannot be given, as there are no pools: all before it is taken back."""
    before = "central.onboarding.network.do.before"
    stage.arm(before)
    await stage.onboard(networks=[{"vlans": 1}])
    await stage.dies_at(before)
    assert stage.people == [ADA], "it is there, with its admin"
    stage.arm(CALLED)
    await stage.replica.start()
    await stage.dies_at(CALLED)
    assert set(stage.emulator.realms) == {"master"}
    assert await stage.state() == [("removed", "open")], "nobody wrote it down"
    await stage.replica.start()
    assert (await stage.ended())["status"] == "undone"
    assert set(stage.emulator.realms) == {"master"}
    assert await stage.state() == []
    assert await stage.central.value("SELECT count(*) FROM tenants") == 0
