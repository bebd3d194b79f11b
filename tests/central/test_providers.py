"""Signing in through another issuer: node's oidc-provider, which knows nothing of us."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
import pytest

from penstock.local import ports

from .plane import Central
from .realm_stage import Browser, Page, Realm

pytestmark = pytest.mark.anyio
FOLDER = Path(__file__).parent / "issuer"


@dataclass(frozen=True)
class Other:
    realm: Realm
    url: str
    provider: str


@asynccontextmanager
async def running(port: int, callback: str) -> AsyncGenerator[None, None]:
    assert (FOLDER / "node_modules").is_dir(), "run tools/system.sh: it installs what this needs"
    program = await asyncio.create_subprocess_exec(
        "node", str(FOLDER / "issuer.mjs"), str(port), callback,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert program.stdout is not None
        async with asyncio.timeout(30):
            assert await program.stdout.readline() == b"ready\n"
        yield
    finally:
        program.kill()
        await program.wait()


@pytest.fixture
async def other(central: Central) -> AsyncGenerator[Other, None]:
    realm = Realm(central, await central.tenant("acme"), "acme")
    port = ports.pick([])
    url = f"http://127.0.0.1:{port}"
    async with running(port, f"{realm.issuer}/provider/callback"):
        made = await central.platform.made(
            "/v1/providers", tenant=realm.tenant.id, name="corporate", issuer=url,
            client_id="penstock", client_secret="penstock-secret",
        )  # fmt: skip
        yield Other(realm, url, made["id"])


async def vouched(other: Other, browser: Browser, name: str, start: str) -> str:
    """Someone signs in at the other issuer; the address that it sends them back to."""
    async with httpx2.AsyncClient(timeout=20.0, trust_env=False) as elsewhere:
        response = await elsewhere.get(start)
        for _ in range(20):
            location = response.headers.get("location", "")
            if location.startswith(other.realm.issuer):
                return location
            if location:
                response = await elsewhere.get(urljoin(str(response.url), location))
                continue
            prompt = re.search(r'name="prompt" value="(\w+)"', response.text)
            action = re.search(r'action="([^"]+)"', response.text)
            assert prompt, response.text
            assert action, response.text
            form = {"prompt": prompt.group(1), "login": name, "password": "x"}
            response = await elsewhere.post(urljoin(str(response.url), action.group(1)), data=form)
    raise AssertionError("the other issuer never came to an end")


async def sign_in(other: Other, browser: Browser, name: str) -> Page:
    page = await browser.get("login")
    assert "Continue with corporate" in page.text
    leaving = await browser.get(f"provider/{other.provider}")
    assert leaving.location.startswith(other.url)
    return await browser.get(await vouched(other, browser, name, leaving.location))


async def test_someone_invited_comes_in_is_linked_and_comes_again(other: Other) -> None:
    realm = other.realm
    await realm.tenant.admin.made("/v1/users/invite", email="ann@acme.example", role="admin")
    browser = Browser(realm.central, "acme")
    page = await sign_in(other, browser, "ann")
    assert "Where you are signed in" in page.text
    user = await realm.user("ann@acme.example")
    assert (user["role"], user["name"]) == ("admin", "The ann")
    tokens = await realm.device(browser)
    assert (await realm.api(tokens).get("/v1/me")).json["role"] == "admin"
    again = Browser(realm.central, "acme")
    assert "Where you are signed in" in (await sign_in(other, again, "ann")).text
    assert len((await realm.tenant.admin.get("/v1/users")).items) == 1
    assert await realm.central.value("SELECT count(*) FROM identities") == 1
    await realm.tenant.admin.made(f"/v1/users/{user['id']}/disable")
    third = Browser(realm.central, "acme")
    assert (await sign_in(other, third, "ann")).status == 403
    for each in (browser, again, third):
        await each.client.aclose()


async def test_someone_known_by_a_verified_address_is_linked_and_others_stay_out(
    other: Other,
) -> None:
    realm = other.realm
    known = await realm.join("bob@acme.example")
    await realm.tenant.admin.made("/v1/users/invite", email="unsure@acme.example")
    browser = Browser(realm.central, "acme")
    assert (await sign_in(other, browser, "stranger")).status == 403, "nobody invited them"
    assert (await sign_in(other, browser, "unsure")).status == 403, "the address is not verified"
    assert await realm.central.value("SELECT count(*) FROM identities") == 0
    assert "Where you are signed in" in (await sign_in(other, browser, "bob")).text
    await known.client.aclose()
    await browser.client.aclose()


async def test_a_way_back_is_for_the_browser_that_left(other: Other) -> None:
    realm = other.realm
    victim, thief = Browser(realm.central, "acme"), Browser(realm.central, "acme")
    await realm.tenant.admin.made("/v1/users/invite", email="eve@acme.example")
    await thief.get("login")
    leaving = await thief.get(f"provider/{other.provider}")
    back = await vouched(other, thief, "eve", leaving.location)
    await victim.get("login")
    assert (await victim.get(back)).status == 400, "no one is signed in as someone else"
    state = parse_qs(urlsplit(back).query)["state"][0]
    for query in (
        {"state": state},
        {"code": "x", "state": state},
        {"code": "x"},
        {"code": "x", "state": "é"},
    ):
        assert (await thief.get("provider/callback", **query)).status == 400, query
    assert await realm.central.value("SELECT count(*) FROM users") == 0
    for each in (victim, thief):
        await each.client.aclose()


async def test_an_issuer_that_is_away_or_disabled_lets_nobody_in(other: Other) -> None:
    realm = other.realm
    away = await realm.central.platform.made(
        "/v1/providers", tenant=realm.tenant.id, name="away", issuer="http://127.0.0.1:1",
        client_id="c", client_secret="s",
    )  # fmt: skip
    browser = Browser(realm.central, "acme")
    assert (await browser.get(f"provider/{away['id']}")).status == 502
    await realm.tenant.admin.made(f"/v1/providers/{other.provider}/disable")
    assert (await browser.get(f"provider/{other.provider}")).status == 404
    assert "corporate" not in (await browser.get("login")).text
    await browser.client.aclose()


@pytest.mark.parametrize(
    "issuer",
    [
        "http://idp.example",
        "https://",
        "ftp://x.example",
        "https://a@b.example",
        "https://b.example?x=1",
    ],
)
async def test_an_issuer_that_cannot_be_trusted_is_refused(central: Central, issuer: str) -> None:
    tenant = await central.tenant("acme")
    answer = await central.platform.post(
        "/v1/providers", tenant=tenant.id, name="x", issuer=issuer, client_id="c",
        client_secret="s",
    )  # fmt: skip
    assert (answer.status, answer.code) == (422, "invalid")
