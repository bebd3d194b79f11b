"""Those who are not known: each address has its limits, and none can keep the others out."""

import asyncio
import itertools
import re
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import httpx2
import pytest

from penstock.central.realms import passwords
from penstock.central.realms.passwords import Passwords
from penstock.kernel.errors import Unavailable

from . import plane
from .plane import Central
from .realm_stage import CLI, PASSWORD, Browser, Page, Realm

pytestmark = pytest.mark.anyio

ANN: Final = "ann@acme.example"
NARROW: Final = {
    "address_requests_per_s": 0.1, "address_requests_burst": 12,
    "address_attempts_per_s": 0.1, "address_attempts_burst": 4,
}  # fmt: skip
PEOPLE: Final = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def at(address: str, **headers: str) -> dict[str, str]:
    return {"X-Forwarded-For": address, **headers}


@pytest.fixture
async def narrow(central_url: str, tmp_path: Path) -> AsyncGenerator[Realm, None]:
    """An address may ask 12 times, and try 4 times."""
    async with plane.running(central_url, tmp_path / "central", **NARROW) as central:
        yield Realm(central, await central.tenant("acme"), "acme")


ATTEMPTS: Final = {
    "token": {"grant_type": "client_credentials", "client_id": CLI},
    "device_authorization": {"client_id": CLI},
    "introspect": {"token": "x", "client_id": CLI},
    "revoke": {"token": "x", "client_id": CLI},
    "login": {"email": ANN, "password": "guess"},
    "login/code": {"code": "123456"},
    "invitation": {"token": "guess"},
    "device": {"user_code": "AAAA-AAAA"},
    "account/second-factor": {"code": "123456"},
    "no/such/page": {},
}


async def test_an_address_may_try_so_often(narrow: Realm) -> None:
    client = narrow.central.client
    for number, (path, form) in enumerate(ATTEMPTS.items()):
        url, here = f"{narrow.issuer}/{path}", at(f"198.51.100.{number}")
        tried = [await client.post(url, data=form, headers=here) for _ in range(6)]
        assert [answer.status_code == 429 for answer in tried] == [False] * 4 + [True] * 2, path
        left = [answer.headers["ratelimit-remaining"] for answer in tried]
        assert left == ["3", "2", "1", "0", "0", "0"]
        assert {answer.headers["ratelimit-limit"] for answer in tried} == {"4"}
        last = tried[-1]
        assert last.headers["content-type"] == "application/problem+json"
        assert last.json()["code"] == "rate_limited"
        assert 1 <= int(last.headers["retry-after"]) <= 10
        assert int(last.headers["ratelimit-reset"]) >= 30
        elsewhere = await client.post(url, data=form, headers=at(f"203.0.113.{number}"))
        assert elsewhere.status_code != 429


async def test_a_credential_is_no_way_around_the_limit_of_attempts(narrow: Realm) -> None:
    admin = narrow.tenant.admin
    assert (await admin.get("/v1/me")).status == 200
    statuses = [
        (await admin.send("POST", "/realms/acme/login", data={"email": ANN})).status
        for _ in range(6)
    ]
    assert statuses[-2:] == [429, 429]
    assert (await admin.get("/v1/me")).status == 200, "its own limit is another"


async def test_whoever_is_not_known_may_ask_so_often(narrow: Realm) -> None:
    nobody = narrow.central.caller(None)
    for number, path in enumerate(("/realms/acme/jwks", "/v1/me", "/nothing", "/docs")):
        here = at(f"2001:db8:{number}::1")
        asked = [await nobody.send("GET", path, headers=here) for _ in range(14)]
        assert [answer.status == 429 for answer in asked] == [False] * 12 + [True] * 2
        assert {answer.headers["ratelimit-limit"] for answer in asked} == {"12"}
        assert asked[-1].code == "rate_limited"
        same = await nobody.send("GET", path, headers=at(f"2001:db8:{number}::ffff"))
        assert same.status == 429, "an IPv6 network of 64 bits is one caller"
        other = await nobody.send("GET", path, headers=at(f"2001:db8:{number}:1::1"))
        assert other.status != 429
        for health in ("/healthz", "/readyz"):
            assert (await nobody.send("GET", health, headers=here)).status == 200
        known = await narrow.tenant.admin.send("GET", "/v1/me", headers=here)
        assert known.status == 200


async def test_a_good_key_uses_nothing_up_of_its_address(narrow: Realm) -> None:
    tenant = narrow.tenant
    for _ in range(20):
        key = await tenant.admin.made(f"/v1/tenants/{tenant.id}/keys", name="k", role="viewer")
        assert (await narrow.central.caller(key["token"]).get("/v1/me")).status == 200


async def test_people_are_told_on_a_page(narrow: Realm) -> None:
    client, url = narrow.central.client, f"{narrow.issuer}/login"
    here = at("::1", **PEOPLE)
    answers = [await client.post(url, data={"email": ANN}, headers=here) for _ in range(5)]
    answer = answers[-1]
    assert answer.status_code == 429
    assert answer.headers["content-type"].startswith("text/html")
    assert "Too many requests came from where you are." in answer.text
    wait = answer.headers["retry-after"]
    assert f"Wait {wait} s, then go back and try again." in answer.text
    assert answer.headers["ratelimit-remaining"] == "0"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    odd = await client.post(
        f"{narrow.base}/realms/%3Cb%3E/login", data={}, headers=at("::1", **PEOPLE)
    )
    assert odd.headers["content-type"] == "application/problem+json"


async def test_many_people_behind_one_address_can_sign_in(central: Central) -> None:
    """The shipped limits: 20 attempts a second, 500 at once; signing in takes two to four."""
    realm = Realm(central, await central.tenant("acme"), "acme")
    browser = await realm.join(ANN)
    for _ in range(10):
        someone = Browser(central, "acme")
        assert "Where you are signed in" in (await someone.log_in(ANN)).text
        await someone.client.aclose()
    answer = await realm.post("device_authorization", client_id=CLI)
    assert int(answer.headers["ratelimit-remaining"]) > 480
    await browser.client.aclose()


async def flood(browser: Browser, page: Page, count: int) -> list[asyncio.Task[httpx2.Response]]:
    """Log in as people who do not exist, all at once, from one address."""
    limits = httpx2.Limits(max_connections=count)
    client = httpx2.AsyncClient(timeout=60, trust_env=False, limits=limits)
    client.cookies = browser.client.cookies
    csrf = page.field("csrf")
    return [
        asyncio.create_task(
            client.post(
                f"{browser.realm}/login",
                data={"csrf": csrf, "email": f"nobody{n}@acme.example", "password": PASSWORD},
                headers=at("203.0.113.9"),
            )
        )
        for n in range(count)
    ]


async def test_one_address_cannot_keep_the_others_from_signing_in(central: Central) -> None:
    realm = Realm(central, await central.tenant("acme"), "acme")
    ann = await realm.join(ANN)
    stranger = Browser(central, "acme")
    page, mine = await stranger.get("login"), await ann.get("login", again="1")
    flooding = await flood(stranger, page, 100)
    for done in itertools.islice(asyncio.as_completed(flooding), 48):
        await done  # then the others are all there, and wait
    form = {"csrf": mine.field("csrf"), "email": ANN, "password": PASSWORD}
    honest = await ann.client.post(f"{ann.realm}/login", data=form, headers=at("198.51.100.7"))
    waiting = sum(not task.done() for task in flooding)
    assert honest.status_code == 303, honest.text
    assert waiting >= 20, "the honest one waited until those before it were done"
    answers = await asyncio.gather(*flooding)
    statuses = {answer.status_code for answer in answers}
    assert statuses == {401, 503}
    refused = next(answer for answer in answers if answer.status_code == 503)
    assert refused.json()["code"] == "overloaded"
    assert int(refused.headers["retry-after"]) >= 1
    for browser in (ann, stranger):
        await browser.client.aclose()


async def test_who_finds_no_room_has_tried_nothing(
    central_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with plane.running(central_url, tmp_path / "central") as central:
        realm = Realm(central, await central.tenant("acme"), "acme")
        await (await realm.join(ANN)).client.aclose()
    monkeypatch.setattr(passwords, "ROOM", 0)
    async with plane.running(central_url, tmp_path / "central") as full:
        browser = Browser(full, "acme")
        browser.client.headers.update(PEOPLE)
        page = await browser.get("login")
        for _ in range(7):  # more than would lock her out
            refused = await browser.log_in(ANN, page=page)
            assert refused.status == 503
            assert re.search(r"Wait 1 s, then go back", refused.text)
        assert await full.value("SELECT failures FROM users") == 0
        await browser.client.aclose()


async def test_each_address_has_a_fair_part_of_the_room() -> None:
    hashing = Passwords()
    with ExitStack() as stack:
        for _ in range(passwords.ROOM):
            try:
                stack.enter_context(hashing.place("a"))
            except Unavailable:
                break
        else:
            raise AssertionError("one address had all of it")
        other = stack.enter_context(hashing.place("b"))
        assert not await other.verify(None, PASSWORD)
    hashing.close()
