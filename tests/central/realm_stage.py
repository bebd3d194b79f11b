"""People, browsers and clients of a realm, as tests need them: over real HTTP."""

import base64
import hashlib
import html
import re
import secrets
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit

import asyncpg
import httpx2
from logins import superuser_url

from .plane import Api, Central, Json, Tenant

PASSWORD: Final = "correct horse battery"
CALLBACK: Final = "https://app.example/callback"
CLI: Final = "penstock-cli"


@dataclass(frozen=True)
class Page:
    status: int
    text: str
    url: str
    location: str

    def field(self, name: str) -> str:
        """The value of a hidden field."""
        found = re.search(rf'name="{name}" value="([^"]*)"', self.text)
        assert found, f"no field {name} in {self.text}"
        return html.unescape(found.group(1))

    @property
    def trouble(self) -> str:
        found = re.search(r'role="alert">([^<]*)<', self.text)
        return html.unescape(found.group(1)) if found else ""

    @property
    def query(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.location).query).items()}


class Browser:
    """Follows redirects within the realm, keeps its cookies, submits forms it was shown."""

    def __init__(self, central: Central, realm: str) -> None:
        self.base = f"http://{central.settings.http_listen}"
        self.realm = f"{self.base}/realms/{realm}"
        self.client = httpx2.AsyncClient(timeout=20.0, trust_env=False)

    async def get(self, path: str, **query: str) -> Page:
        url = path if path.startswith("http") else f"{self.realm}/{path}"
        return await self._follow(await self.client.get(url, params=query or None))

    async def submit(self, page: Page, path: str, **fields: str) -> Page:
        form = {"csrf": page.field("csrf"), **fields}
        return await self._follow(await self.client.post(f"{self.realm}/{path}", data=form))

    async def post(self, path: str, **fields: str) -> Page:
        """Without a page before it."""
        return await self._follow(await self.client.post(f"{self.realm}/{path}", data=fields))

    async def _follow(self, response: httpx2.Response) -> Page:
        for _ in range(10):
            location = response.headers.get("location", "")
            inside = location.startswith(("/realms/", self.realm))
            if not inside:
                return Page(response.status_code, response.text, str(response.url), location)
            where = location if location.startswith("http") else f"{self.base}{location}"
            response = await self.client.get(where)
        raise AssertionError("redirected for ever")

    async def log_in(
        self, email: str, password: str = PASSWORD, *, page: Page | None = None
    ) -> Page:
        page = page or await self.get("login")
        return await self.submit(
            page, "login", email=email, password=password, next=page.field("next")
        )


@dataclass(frozen=True)
class Pkce:
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@dataclass
class Realm:
    central: Central
    tenant: Tenant
    name: str

    @property
    def base(self) -> str:
        return f"http://{self.central.settings.http_listen}"

    @property
    def issuer(self) -> str:
        return f"{self.base}/realms/{self.name}"

    async def post(
        self, path: str, basic: tuple[str, str] | None = None, /, **form: str
    ) -> httpx2.Response:
        headers: dict[str, str] = {}
        if basic is not None:
            pair = base64.b64encode(":".join(basic).encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        return await self.central.client.post(f"{self.issuer}/{path}", data=form, headers=headers)

    async def join(self, email: str, role: str = "member") -> Browser:
        """Invite someone, who accepts and is then logged in."""
        made = await self.tenant.admin.made("/v1/users/invite", email=email, role=role)
        browser = Browser(self.central, self.name)
        page = await browser.get(made["url"])
        token = page.field("token")
        page = await browser.submit(
            page, "invitation", token=token, full_name=email.partition("@")[0], password=PASSWORD
        )
        assert page.status == 200, page.text
        return browser

    async def user(self, email: str) -> Json:
        items = (await self.tenant.admin.get("/v1/users")).items
        return next(item for item in items if item["email"] == email)

    async def client(self, **changes: object) -> Json:
        """A confidential client for codes."""
        body: Json = {
            "name": "app",
            "redirect_uris": [CALLBACK],
            "grants": ["authorization_code", "refresh_token"],
            "scopes": ["openid", "profile", "email", "read", "use"],
            **changes,
        }
        return await self.tenant.admin.made("/v1/clients", **body)

    def authorize_url(self, client: str, pkce: Pkce, **changes: str | None) -> str:
        query: dict[str, str | None] = {
            "response_type": "code",
            "client_id": client,
            "redirect_uri": CALLBACK,
            "scope": "openid profile email use",
            "state": "s-1",
            "nonce": "n-1",
            "code_challenge": pkce.challenge,
            "code_challenge_method": "S256",
            **changes,
        }
        kept = {name: value for name, value in query.items() if value is not None}
        return f"{self.issuer}/authorize?{urlencode(kept)}"

    async def code(self, browser: Browser, client: str, pkce: Pkce, **changes: str | None) -> str:
        """A code for whoever is logged in, who consents if asked."""
        page = await browser.get(self.authorize_url(client, pkce, **changes))
        if not page.location:
            query = page.field("query")
            page = await browser.submit(page, "authorize", query=query, decision="allow")
        assert "code" in page.query, page.text or page.location
        return page.query["code"]

    async def redeem(self, client: Json, code: str, pkce: Pkce, **changes: str) -> httpx2.Response:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": CALLBACK,
            "code_verifier": pkce.verifier,
            **changes,
        }
        return await self.post("token", (client["id"], client["secret"]), **form)

    async def tokens(self, browser: Browser, client: Json, **changes: str | None) -> Json:
        pkce = Pkce()
        code = await self.code(browser, client["id"], pkce, **changes)
        answer = await self.redeem(client, code, pkce)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def device(self, browser: Browser, scope: str = "openid administer keys") -> Json:
        """Tokens of the command line, through the device flow."""
        started = (await self.post("device_authorization", client_id=CLI, scope=scope)).json()
        page = await browser.get("device", user_code=started["user_code"])
        await browser.submit(page, "device", user_code=page.field("user_code"), decision="allow")
        answer = await self.poll(started)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def poll(self, started: Json) -> httpx2.Response:
        return await self.post(
            "token",
            grant_type="urn:ietf:params:oauth:grant-type:device_code",
            device_code=started["device_code"],
            client_id=CLI,
        )

    async def past(self, table: str) -> None:
        """Let the time of all that is in a table be up. No role of central's own can do this."""
        url = superuser_url(self.central.settings.database_url)
        superuser = await asyncpg.connect(url)
        await superuser.execute(f"UPDATE {table} SET expires_at = now()")
        await superuser.close()

    def api(self, tokens: Json) -> Api:
        return self.central.caller(tokens["access_token"])


async def things(central: Central, tenant: Tenant, name: str) -> dict[str, str]:
    """One of everything that a realm has: the id of each, by its noun."""
    realm = Realm(central, tenant, name)
    browser = await realm.join("someone@example.com")
    client = await realm.client()
    tokens = await realm.tokens(browser, client)
    await realm.device(browser)
    await realm.post("revoke", (client["id"], client["secret"]), token=tokens["access_token"])
    made = {"name": "idp", "issuer": "https://idp.example", "client_id": "c", "client_secret": "s"}
    provider = await central.platform.made("/v1/providers", tenant=tenant.id, **made)
    user = (await realm.user("someone@example.com"))["id"]
    # Only a person at another issuer would make this one (test_providers has one).
    await central.execute(
        "INSERT INTO identities VALUES ($1, 'them', $2, $3, now())", provider["id"], tenant.id, user
    )
    key = await tenant.admin.made(f"/v1/tenants/{tenant.id}/keys", name="spare", role="viewer")
    session = next(s for s in (await tenant.admin.get("/v1/sessions")).items if s["user"] == user)
    await browser.client.aclose()
    return {
        "user": user, "client": client["id"], "provider": provider["id"], "key": key["id"],
        "session": session["id"],
    }  # fmt: skip
