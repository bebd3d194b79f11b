"""What central does after each fault of a realm driver, and with a bad file of drivers."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.central.events import CATALOGUE
from penstock.central.onboardings import founding
from penstock.central.realms import creation
from penstock.central.realms.hosts import configured, store
from penstock.central.realms.hosts.model import HostedRealm, State
from penstock.central.realms.hosts.reconciler import Hosting
from penstock.central.tenants.model import Status
from penstock.kernel import db
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Database, Tx
from penstock.kernel.settings import SettingsInvalid
from penstock.kernel.wakeups import Wakeups
from penstock_contracts.drivers.faults import (
    Conflict,
    CredentialsRejected,
    Gone,
    NoCapacity,
    RateLimited,
    Transient,
    Unsupported,
)
from penstock_contracts.drivers.realm import Hosted, Wanted
from penstock_contracts.ids import TenantId

from . import plane

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Odd:
    """A provider that raises what it is told, and hosts everybody else."""

    raised: dict[str, Exception] = field(default_factory=dict[str, Exception])

    async def ensure(self, wanted: Wanted) -> Hosted:
        if wanted.name in self.raised:
            raise self.raised[wanted.name]
        issuer = f"https://odd.example/{wanted.name}"
        return Hosted(issuer, f"{issuer}/keys", issuer)

    async def invite(self, wanted: Wanted, email: str) -> None: ...

    async def suspend(self, wanted: Wanted) -> None: ...

    async def resume(self, wanted: Wanted) -> None: ...

    async def remove(self, wanted: Wanted) -> None: ...


@dataclass(frozen=True)
class Stage:
    database: Database
    odd: Odd
    hosting: Hosting

    async def order(self, name: str) -> TenantId:
        async def begin(tx: Tx) -> TenantId:
            made = await founding.found(tx, SYSTEM, name, Status.ACTIVE)
            await creation.order(tx, made.id, name, "odd")
            return made.id

        return await self.database.run(begin)

    async def realm(self, tenant: TenantId) -> HostedRealm:
        found = await self.database.run(lambda tx: store.find(tx, tenant))
        assert found is not None
        return found


@pytest.fixture
async def stage(central_url: str) -> AsyncGenerator[Stage, None]:
    async def settled(tx: Tx, tenant_id: TenantId) -> None:
        """Nobody is being onboarded."""

    database = await db.connect(
        central_url, "central", size=2, clock=lambda: NOW, catalogue=CATALOGUE
    )
    odd = Odd()
    wakeups = Wakeups(central_url)
    yield Stage(database, odd, Hosting(database, wakeups, {"odd": odd}, "https://a.b", settled))
    await database.close()


@pytest.mark.parametrize(
    ("fault", "final", "pause_s"),
    [
        (Transient("away"), False, 0.5),
        (CredentialsRejected("no"), False, 0.5),
        (NoCapacity("full"), False, 0.5),
        (RateLimited("slow down", 45), False, 45),
        (RateLimited("slow down", 0.01), False, 0.5),
        (Conflict("another's"), True, 0.5),
        (Gone("gone"), True, 0.5),
        (Unsupported("never"), True, 0.5),
        (KeyError("hunter2"), False, 0.5),
    ],
)
async def test_a_fault_is_written_down_and_tried_again_unless_it_is_final(
    stage: Stage, fault: Exception, final: bool, pause_s: float
) -> None:
    tenant = await stage.order("acme")
    stage.odd.raised["acme"] = fault
    await stage.hosting.advance()
    realm = await stage.realm(tenant)
    assert (realm.refused, realm.actual, realm.failures) == (final, State.NONE, 1)
    assert realm.retry_at == NOW + timedelta(seconds=pause_s)


async def test_a_bug_of_a_driver_is_reported_as_one_and_keeps_no_other_realm_waiting(
    stage: Stage,
) -> None:
    acme, globex = await stage.order("acme"), await stage.order("globex")
    stage.odd.raised["acme"] = KeyError("hunter2")
    for _ in range(2):
        await stage.hosting.advance()
    assert (await stage.realm(globex)).actual is State.OPEN
    told = (await stage.realm(acme)).fault
    assert told.startswith("driver realm.odd has a bug: it raised KeyError")
    assert "hunter2" not in told, "it is shown in the onboarding"


@pytest.mark.parametrize(
    ("text", "changes", "told"),
    [
        ("[realm.keycloak]\n", {}, "realm.keycloak.url: is missing; it must be an http(s) address"),
        (
            '[realm.keycloak]\nurl = "keycloak.example"\nsecret = { env = "HOME" }\n',
            {},
            "realm.keycloak.url: must be an http(s) address",
        ),
        ("[realm.nobody]\n", {}, "realm.nobody: there is no driver realm.nobody here"),
        ("[realm.embedded]\n", {}, "realm.embedded.database_url: is missing"),
        ("[reaml.keycloak]\n", {}, "reaml: there is no such kind of driver"),
        ("", {"realm_provider": "keycloak"}, "no table realm.keycloak in PENSTOCK_CENTRAL_DRIVERS"),
        (None, {"realm_provider": "keycloak"}, "PENSTOCK_CENTRAL_REALM_PROVIDER is keycloak"),
    ],
)
async def test_drivers_that_cannot_be_used_are_refused_by_file_and_field(
    tmp_path: Path, text: str | None, changes: dict[str, Any], told: str
) -> None:
    file = tmp_path / "drivers.toml"
    if text is not None:
        file.write_text(text)
        changes = {**changes, "drivers": file}
    settings = plane.settings("", tmp_path / "central", **changes)
    with pytest.raises(SettingsInvalid) as raised:
        async with configured.opened(settings):
            pass
    assert told in str(raised.value)
    assert text is None or not text or f"{file}: " in str(raised.value)


async def test_centrals_own_realms_need_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("URL", "postgresql://nowhere")
    file = tmp_path / "drivers.toml"
    file.write_text(
        '[realm.embedded]\npublic_url = "https://a.example"\ndatabase_url = { env = "URL" }\n'
    )
    settings = plane.settings("", tmp_path / "central", drivers=file)
    with pytest.raises(SettingsInvalid, match=r"realm\.embedded: is central itself"):
        async with configured.opened(settings):
            pass
