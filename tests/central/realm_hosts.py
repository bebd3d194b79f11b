"""Where realms can be, as tests need them: each with a way to be a person there."""

import os
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import httpx2

from penstock.central.onboardings import founding
from penstock.central.realms.embedded import Embedded
from penstock.central.realms.hosts.keycloak.admin import Admin
from penstock.central.realms.hosts.keycloak.provider import Keycloak
from penstock.central.realms.keys.service import Keyring
from penstock.central.realms.passwords import Passwords
from penstock.central.realms.service import Realms
from penstock.central.tenants.model import Status
from penstock.kernel import sealing
from penstock.kernel.actor import SYSTEM
from penstock_contracts.realms import RealmProvider, Wanted

from . import keycloak_emulator
from .keycloak_emulator import ADMIN, SECRET, Emulator
from .plane import Central, Json, Tenant
from .realm_stage import CLI, PASSWORD, Browser, Realm

REAL = "PENSTOCK_TEST_KEYCLOAK"  # the address of a Keycloak to run the same suite against
REAL_SECRET_FILE = "PENSTOCK_TEST_KEYCLOAK_SECRET_FILE"  # of client `penstock` in its master realm
API = "http://127.0.0.1:9"


class Host(Protocol):
    """A provider, and what only the outside of it can show."""

    @property
    def provider(self) -> RealmProvider: ...

    async def wanted(self) -> Wanted:
        """A tenant without a realm."""
        ...

    async def another(self, wanted: Wanted) -> Wanted:
        """The same name, for another tenant."""
        ...

    async def exists(self, wanted: Wanted) -> bool: ...

    async def people(self, wanted: Wanted) -> list[tuple[str, bool]]:
        """Who is there or invited, and whether their address is verified."""
        ...

    async def become(self, wanted: Wanted, email: str) -> None:
        """Whoever was invited proves that the address is theirs and chooses a password."""
        ...

    async def tokens(self, wanted: Wanted, email: str) -> Json | None:
        """Of the command line, for someone who is in; None if they are refused."""
        ...


@dataclass(frozen=True)
class AtKeycloak:
    provider: Keycloak

    @property
    def admin(self) -> Admin:
        return self.provider.admin

    async def wanted(self) -> Wanted:
        name = f"t-{secrets.token_hex(4)}"
        return Wanted(f"tenant_{name}", name, API, f"{API}/portal/callback")

    async def another(self, wanted: Wanted) -> Wanted:
        return Wanted("tenant_other", wanted.name, API, wanted.portal)

    async def exists(self, wanted: Wanted) -> bool:
        return (await self.admin.call("GET", f"/{wanted.name}", expected=(200, 404))).status == 200

    async def user(self, wanted: Wanted, email: str) -> Json:
        path = f"/{wanted.name}/users?email={email}&exact=true"
        return dict((await self.admin.call("GET", path, expected=(200,))).things[0])

    async def people(self, wanted: Wanted) -> list[tuple[str, bool]]:
        found: list[tuple[str, bool]] = []
        for email in ("ada@acme.example", "eve@acme.example"):
            path = f"/{wanted.name}/users?email={email}&exact=true"
            users = (await self.admin.call("GET", path, expected=(200,))).things
            found += [(str(each["email"]), bool(each["emailVerified"])) for each in users]
        return found

    async def become(self, wanted: Wanted, email: str) -> None:
        user = await self.user(wanted, email)
        proven: Json = {
            "emailVerified": True,
            "requiredActions": [],
            "firstName": "A",
            "lastName": "B",
        }
        path = f"/{wanted.name}/users/{user['id']}"
        await self.admin.call("PUT", path, {**user, **proven}, expected=(204,))
        chosen = {"type": "password", "value": PASSWORD, "temporary": False}
        await self.admin.call("PUT", f"{path}/reset-password", chosen, expected=(204,))

    async def tokens(self, wanted: Wanted, email: str) -> Json | None:
        """By password, which the client is let do for a moment: the mappers are the same."""
        path = f"/{wanted.name}/clients"
        there = await self.admin.call("GET", f"{path}?clientId={CLI}", expected=(200,))
        client = dict(there.things[0])
        opened = {**client, "directAccessGrantsEnabled": True, "consentRequired": False}
        await self.admin.call("PUT", f"{path}/{client['id']}", opened, expected=(204,))
        form = {
            "grant_type": "password", "client_id": CLI, "username": email, "password": PASSWORD,
            "scope": "openid administer",
        }  # fmt: skip
        url = f"{self.admin.address}/realms/{wanted.name}/protocol/openid-connect/token"
        async with httpx2.AsyncClient(timeout=20.0, trust_env=False) as outside:
            answer = await outside.post(url, data=form)
        await self.admin.call("PUT", f"{path}/{client['id']}", client, expected=(204,))
        return answer.json() if answer.status_code == 200 else None


@dataclass(frozen=True)
class AtCentral:
    central: Central
    provider: Embedded

    async def wanted(self) -> Wanted:
        return await self._tenant(f"t-{secrets.token_hex(4)}", None)

    async def another(self, wanted: Wanted) -> Wanted:
        return await self._tenant(f"t-{secrets.token_hex(4)}", wanted.name)

    async def _tenant(self, name: str, realm: str | None) -> Wanted:
        async with self.central.database.transaction() as tx:
            made = await founding.found(tx, SYSTEM, name, Status.ACTIVE)
        url = self.central.settings.url
        return Wanted(made.id, realm or name, url, f"{url}/portal/callback")

    async def exists(self, wanted: Wanted) -> bool:
        sql = "SELECT count(*) FROM realms WHERE name = $1 AND tenant_id = $2"
        return bool(await self.central.value(sql, wanted.name, wanted.tenant))

    async def people(self, wanted: Wanted) -> list[tuple[str, bool]]:
        sql = """
            SELECT email, true AS verified FROM users WHERE tenant_id = $1 UNION ALL
            SELECT email, false FROM invitations WHERE tenant_id = $1 AND accepted_at IS NULL
        """
        rows = await self.central.rows(sql, wanted.tenant)
        return sorted((row["email"], row["verified"]) for row in rows)

    async def become(self, wanted: Wanted, email: str) -> None:
        """The link is shown to whoever asks for a new one."""
        made = await self.central.platform.made(
            "/v1/users/invite", email=email, role="admin", tenant=wanted.tenant
        )
        browser = Browser(self.central, wanted.name)
        page = await browser.get(made["url"])
        await browser.submit(
            page, "invitation", token=page.field("token"), full_name="A B", password=PASSWORD
        )
        await browser.client.aclose()

    async def tokens(self, wanted: Wanted, email: str) -> Json | None:
        browser = Browser(self.central, wanted.name)
        try:
            page = await browser.get("login")
            if page.status != 200:
                return None
            await browser.log_in(email, page=page)
            nobody = self.central.caller(None)
            tenant = Tenant(wanted.tenant, "", nobody, nobody, nobody)
            return await Realm(self.central, tenant, wanted.name).device(browser)
        finally:
            await browser.client.aclose()


def at_central(central: Central) -> AtCentral:
    seal = sealing.load_or_create(central.settings.data / "seal.key")
    realms = Realms(
        central.database, central.settings.url, seal, Keyring(central.database, seal), Passwords()
    )
    return AtCentral(central, Embedded(realms))


def at_emulator(emulator: Emulator, *, timeout_s: float = 5.0) -> AtKeycloak:
    return AtKeycloak(Keycloak(Admin(emulator.address, ADMIN, SECRET, timeout_s)))


def at_real() -> AtKeycloak:
    secret = Path(os.environ[REAL_SECRET_FILE]).read_text().strip()
    return AtKeycloak(Keycloak(Admin(os.environ[REAL], ADMIN, secret, 60.0)))


@asynccontextmanager
async def emulated(*, timeout_s: float = 5.0) -> AsyncGenerator[tuple[Emulator, AtKeycloak], None]:
    async with keycloak_emulator.running() as emulator:
        yield emulator, at_emulator(emulator, timeout_s=timeout_s)
