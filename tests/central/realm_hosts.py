"""Where realms can be, as tests need them: each with a way to be a person there."""

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from penstock.central.onboardings import founding
from penstock.central.tenants.model import Status
from penstock.drivers.keycloak.admin import Admin
from penstock.kernel.actor import SYSTEM
from penstock_contracts.drivers import registry
from penstock_contracts.drivers.realm import REALM, RealmProvider, Wanted
from penstock_contracts.drivers.secrets import Secret

from . import keycloak_emulator
from .keycloak_emulator import ADMIN, SECRET, Emulator
from .plane import Central, Json, Tenant
from .realm_stage import CLI, PASSWORD, Browser, Realm

REAL = "PENSTOCK_TEST_KEYCLOAK"  # the address of a Keycloak to run the same suite against
REAL_SECRET_FILE = "PENSTOCK_TEST_KEYCLOAK_SECRET_FILE"  # of client `penstock` in its master realm
API = "http://127.0.0.1:9"


@dataclass(frozen=True)
class AtKeycloak:
    provider: RealmProvider
    admin: Admin  # as its operator has it
    secret: str

    @property
    def secrets(self) -> Sequence[str]:
        return (self.secret,)

    @asynccontextmanager
    async def silent(self) -> AsyncGenerator[RealmProvider, None]:
        async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()  # until the caller gave up
            writer.close()

        server = await asyncio.start_server(hold, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, keycloak(f"http://127.0.0.1:{port}", self.secret, 0.2) as provider:
            yield provider

    async def tidy(self, wanted: Wanted) -> None:
        await self.provider.remove(wanted)

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
    provider: RealmProvider

    @property
    def secrets(self) -> Sequence[str]:
        return (self.central.settings.database_url,)

    @asynccontextmanager
    async def silent(self) -> AsyncGenerator[None, None]:
        yield None  # it is in the same process

    async def tidy(self, wanted: Wanted) -> None:
        """A realm of ours keeps its people; its database goes with the test."""

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


@asynccontextmanager
async def at_central(central: Central) -> AsyncGenerator[AtCentral, None]:
    url, public_url = Secret(central.settings.database_url), central.settings.url
    driver = registry.find(REALM, "embedded")
    async with driver.open(driver.config(url, public_url)) as provider:
        yield AtCentral(central, provider)


@asynccontextmanager
async def at_keycloak(
    address: str, secret: str, timeout_s: float = 5.0
) -> AsyncGenerator[AtKeycloak, None]:
    async with keycloak(address, secret, timeout_s) as provider:
        yield AtKeycloak(provider, Admin(address, ADMIN, secret, 60.0), secret)


def at_real() -> AbstractAsyncContextManager[AtKeycloak]:
    secret = Path(os.environ[REAL_SECRET_FILE]).read_text().strip()
    return at_keycloak(os.environ[REAL], secret, 60.0)


@asynccontextmanager
async def emulated() -> AsyncGenerator[tuple[Emulator, AtKeycloak], None]:
    async with (
        keycloak_emulator.running() as emulator,
        at_keycloak(emulator.address, SECRET) as host,
    ):
        yield emulator, host


def keycloak(
    address: str, secret: str, timeout_s: float
) -> AbstractAsyncContextManager[RealmProvider]:
    driver = registry.find(REALM, "keycloak")
    return driver.open(driver.config(address, Secret(secret), ADMIN, timeout_s))


def drivers_file(folder: Path, emulator: Emulator) -> Path:
    """As an operator writes it."""
    (folder / "secret").write_text(SECRET)
    file = folder / "drivers.toml"
    file.write_text(
        f"""
        [realm.keycloak]
        url = "{emulator.address}"
        client_id = "{ADMIN}"
        secret = {{ file = "{folder / "secret"}" }}
        timeout_s = 2
        """
    )
    return file
