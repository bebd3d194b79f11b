"""Signing in through another issuer: node's oidc-provider, which knows nothing of us."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import pytest

from . import other_issuer
from .other_issuer import Other, sign_in, vouched
from .plane import Central
from .realm_stage import Browser, Realm

pytestmark = pytest.mark.anyio


@pytest.fixture
async def other(central: Central) -> AsyncGenerator[Other, None]:
    async with other_issuer.trusted(central) as trusted:
        yield trusted


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
        "https://b.example#x",
        "https://b.example;x",
        "https://[b.example",
        "https://b.example:x",
    ],
)
async def test_an_issuer_that_cannot_be_trusted_is_refused(central: Central, issuer: str) -> None:
    tenant = await central.tenant("acme")
    answer = await central.platform.post(
        "/v1/providers", tenant=tenant.id, name="x", issuer=issuer, client_id="c",
        client_secret="s",
    )  # fmt: skip
    assert (answer.status, answer.code) == (422, "invalid")


@pytest.mark.parametrize(
    "endpoint",
    [
        "javascript:alert(1)",
        "http://evil.example/a",
        "https://a@evil.example",
        "//evil.example",
        "",
    ],
)
async def test_nobody_is_sent_to_an_address_that_is_none(central: Central, endpoint: str) -> None:
    realm = Realm(central, await central.tenant("acme"), "acme")
    async with saying({"authorization_endpoint": endpoint}) as issuer:
        made = await central.platform.made(
            "/v1/providers", tenant=realm.tenant.id, name="odd", issuer=issuer, client_id="c",
            client_secret="s",
        )  # fmt: skip
        browser = Browser(central, "acme")
        page = await browser.get(f"provider/{made['id']}")
        assert (page.status, page.location) == (502, "")
        await browser.client.aclose()


@asynccontextmanager
async def saying(metadata: dict[str, str]) -> AsyncGenerator[str, None]:
    """An issuer that describes itself, and nothing else."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = json.dumps({"issuer": url, **metadata}).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield url
