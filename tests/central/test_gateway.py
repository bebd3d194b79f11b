"""The gateway: how often, how large, from where; and headers that keep answers safe."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path

import pytest

from penstock.central.settings import PREFIX, CentralSettings
from penstock.kernel import settings
from penstock.kernel.http.heads import HEADER_BYTES_MAX, HEADERS_MAX, TARGET_BYTES_MAX
from penstock.kernel.settings import SettingsInvalid

from . import plane
from .plane import Central

pytestmark = pytest.mark.anyio

PORTAL = "https://portal.example"
SLOW = {"tenant_requests_per_s": 0.1, "tenant_requests_burst": 6}


@pytest.fixture
async def limited(central_url: str, tmp_path: Path) -> AsyncGenerator[Central, None]:
    """A tenant may send 6, a key 60 at once; an address may show 3 bad keys."""
    async with plane.running(
        central_url, tmp_path / "central", **SLOW, key_requests_per_s=0.1, key_requests_burst=60,
        bad_keys_per_s=0.1, bad_keys_burst=3, cors_origins=(PORTAL,), hsts_s=3600,
    ) as started:  # fmt: skip
        yield started


async def test_answers_say_how_much_is_left_and_too_many_are_refused_with_when_to_return(
    limited: Central,
) -> None:
    tenant, other = await limited.tenant("acme"), await limited.tenant("other")
    answers = [await tenant.viewer.get("/v1/me") for _ in range(8)]
    last = answers[-1]
    # One of the six was the project that the tenant's admin made: keys share the tenant's bucket.
    assert [answer.status for answer in answers] == [200] * 5 + [429] * 3
    assert (last.code, last.headers["content-type"]) == ("rate_limited", "application/problem+json")
    assert 1 <= int(last.headers["retry-after"]) <= 10
    assert last.headers["ratelimit-limit"] == "6"
    assert last.headers["ratelimit-remaining"] == "0"
    assert int(last.headers["ratelimit-reset"]) >= 50
    assert "nothing was done" in last.json["detail"]
    calm = await other.viewer.get("/v1/me")
    assert (calm.status, calm.headers["ratelimit-remaining"]) == (200, "4")


async def test_a_key_has_a_limit_of_its_own(central_url: str, tmp_path: Path) -> None:
    async with plane.running(
        central_url, tmp_path / "central", key_requests_per_s=0.1, key_requests_burst=10
    ) as central:
        tenant = await central.tenant("acme")
        assert {(await tenant.viewer.get("/v1/me")).status for _ in range(10)} == {200}
        refused = await tenant.viewer.get("/v1/me")
        assert (refused.status, "this key" in refused.json["detail"]) == (429, True)
        assert (await tenant.member.get("/v1/me")).status == 200


async def test_health_has_no_limit(limited: Central) -> None:
    tenant = await limited.tenant("acme")
    for _ in range(7):
        await tenant.viewer.get("/v1/me")
    assert {(await tenant.viewer.get("/healthz")).status for _ in range(20)} == {200}


async def test_too_many_bad_keys_from_an_address_are_not_even_looked_up(limited: Central) -> None:
    tenant = await limited.tenant("acme")
    bad = [await limited.caller(f"pk_bad_{number}").get("/v1/me") for number in range(5)]
    assert [answer.status for answer in bad] == [401, 401, 401, 429, 429]
    assert int(bad[-1].headers["retry-after"]) >= 1
    assert [answer.headers["ratelimit-remaining"] for answer in bad] == ["2", "1", "0", "0", "0"]
    assert {answer.headers["ratelimit-limit"] for answer in bad} == {"3"}
    # Who was let in before is still known; who shows no key at all is told so.
    assert (await limited.platform.get("/v1/me")).status == 200
    assert (await tenant.admin.get("/v1/me")).status == 200
    assert (await limited.caller(None).get("/v1/me")).status == 401
    elsewhere = {"X-Forwarded-For": "203.0.113.9"}
    answer = await limited.caller("pk_bad").send("GET", "/v1/me", headers=elsewhere)
    assert answer.status == 401


async def test_bad_keys_all_at_once_are_bounded_too(limited: Central) -> None:
    callers = [limited.caller(f"pk_bad_{number}") for number in range(40)]
    answers = await asyncio.gather(*(caller.get("/v1/me") for caller in callers))
    statuses = [answer.status for answer in answers]
    assert (statuses.count(401), statuses.count(429)) == (3, 37)


async def test_a_key_that_no_longer_holds_is_not_recognized(limited: Central) -> None:
    tenant = await limited.tenant("acme")
    assert (await tenant.viewer.get("/v1/me")).status == 200
    await plane.as_superuser(
        limited.settings.database_url, "DELETE FROM api_keys WHERE role = 'viewer'"
    )
    refused = await tenant.viewer.get("/v1/me")
    assert refused.status == 401
    again = await tenant.viewer.get("/v1/me")
    assert again.headers["ratelimit-limit"] == "3"  # the tenant's tokens are not theirs to use


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"X-Long": "x" * HEADER_BYTES_MAX}, 431, "headers_too_large"),
        ({f"X-{n}": "x" for n in range(HEADERS_MAX)}, 431, "headers_too_large"),
        ({f"X-{n}": "x" * 7000 for n in range(5)}, 431, "headers_too_large"),
        ({"X-Fine": "x" * 7000}, 200, None),
    ],
    ids=["one too long", "too many", "too long together", "long and fine"],
)
async def test_headers_have_limits(
    central: Central, headers: dict[str, str], status: int, code: str | None
) -> None:
    answer = await central.platform.send("GET", "/v1/me", headers=headers)
    assert (answer.status, answer.json.get("code")) == (status, code)


async def test_a_target_has_a_limit(central: Central) -> None:
    answer = await central.platform.get("/v1/projects?cursor=" + "x" * TARGET_BYTES_MAX)
    assert (answer.status, answer.code) == (414, "target_too_long")


ENDLESS = {
    "a value": (b"GET / HTTP/1.1\r\nX-Long: ", b"x" * 4096),
    "headers": (b"GET / HTTP/1.1\r\n", b"X: y\r\n" * 700),
    "a target": (b"GET /", b"x" * 4096),
}


@pytest.mark.parametrize("endless", ENDLESS)
async def test_a_head_without_an_end_is_answered_and_cut_off(
    central: Central, endless: str
) -> None:
    begin, more = ENDLESS[endless]
    host, _, port = central.settings.http_listen.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    answer, sent = asyncio.create_task(reader.readuntil(b"}")), 0
    writer.write(begin)
    async with asyncio.timeout(10):
        while not answer.done():
            await writer.drain()
            writer.write(more)
            sent += len(more)
            await asyncio.sleep(0)
        assert (await answer).startswith(b"HTTP/1.1 431 ")
        assert b'"code":"headers_too_large"' in await answer
        assert sent < 4_000_000
        with suppress(ConnectionError):
            await reader.read()  # it ends, whatever is sent
    writer.close()


async def test_every_answer_has_the_headers_that_keep_it_safe(limited: Central) -> None:
    nobody = limited.caller(None)
    for path, status in (("/v1/me", 401), ("/nothing", 404), ("/healthz", 200)):
        answer = await nobody.get(path)
        assert answer.status == status
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; frame-ancestors 'none'")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["strict-transport-security"] == "max-age=3600; includeSubDomains"


async def test_without_tls_in_front_nothing_is_said_about_it(central: Central) -> None:
    assert "strict-transport-security" not in (await central.platform.get("/v1/me")).headers


PREFLIGHT = {"Access-Control-Request-Method": "POST"}


async def test_pages_of_other_origins_cannot_call_unless_configured(central: Central) -> None:
    for method, extra in (("GET", {}), ("OPTIONS", PREFLIGHT)):
        headers = {"Origin": PORTAL, **extra}
        answer = await central.platform.send(method, "/v1/me", headers=headers)
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "origin",
    [PORTAL + ".evil.example", "http://portal.example", PORTAL + ":8443", "null", "*", ""],
)
async def test_only_exactly_a_configured_origin_may_call(limited: Central, origin: str) -> None:
    allowed = await limited.platform.send("GET", "/v1/me", headers={"Origin": PORTAL})
    assert allowed.headers["access-control-allow-origin"] == PORTAL
    assert "origin" in allowed.headers["vary"].lower()
    preflight = {"Origin": PORTAL, **PREFLIGHT, "Access-Control-Request-Headers": "authorization"}
    asked = await limited.caller(None).send("OPTIONS", "/v1/allocations", headers=preflight)
    assert (asked.status, asked.headers["access-control-allow-origin"]) == (200, PORTAL)
    refused = await limited.platform.send("GET", "/v1/me", headers={"Origin": origin})
    assert "access-control-allow-origin" not in refused.headers
    preflight = await limited.platform.send(
        "OPTIONS", "/v1/me", headers={"Origin": origin, **PREFLIGHT}
    )
    assert "access-control-allow-origin" not in preflight.headers


@pytest.mark.parametrize("origins", ["*", "null", "https://a.example/", "https://*.example"])
def test_origins_that_would_open_the_api_to_many_are_refused(origins: str) -> None:
    environment = {f"{PREFIX}DATABASE_URL": "x", f"{PREFIX}DATA": "x"}
    with pytest.raises(SettingsInvalid):
        settings.load(CentralSettings, PREFIX, {**environment, f"{PREFIX}CORS_ORIGINS": origins})
    both = "https://a.example, https://b.example"
    chosen = settings.load(CentralSettings, PREFIX, {**environment, f"{PREFIX}CORS_ORIGINS": both})
    assert chosen.cors_origins == ("https://a.example", "https://b.example")
