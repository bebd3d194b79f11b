"""A header that decides something is there once: two readers could take different ones of two."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import orjson
import pytest

from penstock.kernel.http.heads import SINGLE

from . import plane
from .plane import TOKEN, Central, Tenant

pytestmark = pytest.mark.anyio
Lines = list[tuple[str, str]]


@pytest.fixture
async def strict(central_url: str, tmp_path: Path) -> AsyncGenerator[Central, None]:
    """An address may show 3 credentials that are not known."""
    async with plane.running(
        central_url, tmp_path / "central", bad_keys_per_s=0.1, bad_keys_burst=3
    ) as started:
        yield started


async def send(central: Central, target: str, lines: Lines) -> tuple[int, plane.Json]:
    """A request with exactly these headers; the status and the problem."""
    host, _, port = central.settings.http_listen.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    if "Connection" not in dict(lines):
        lines = [*lines, ("Connection", "close")]
    head = "".join(f"{name}: {value}\r\n" for name, value in lines)
    writer.write(f"{target} HTTP/1.1\r\n{head}\r\n".encode("latin-1"))
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    start, _, body = answer.partition(b"\r\n\r\n")
    problem: plane.Json = orjson.loads(body) if b"application/problem+json" in start else {}
    return int(start.split()[1]), problem


def bearer(token: str) -> tuple[str, str]:
    return "Authorization", f"Bearer {token}"


async def test_two_credentials_are_refused_and_count_as_one_that_is_not_known(
    strict: Central,
) -> None:
    """With a good one first or last: neither is looked at."""
    assert (await strict.platform.get("/v1/me")).status == 200
    answers = [
        await send(strict, "GET /v1/me", [("Host", "x"), *pair])
        for number in range(3)
        for pair in (
            [bearer(f"pk_bad_{number}"), bearer(TOKEN)],
            [bearer(TOKEN), bearer(f"pk_bad_{number}")],
        )
    ]
    assert [status for status, _ in answers] == [400, 400, 400, 429, 429, 429]
    assert answers[0][1]["code"] == "header_repeated"
    assert "authorization" in answers[0][1]["detail"]
    assert (await strict.caller("pk_bad").get("/v1/me")).status == 429
    assert (await strict.platform.get("/v1/me")).status == 200, "who is known is not counted"


async def test_many_bad_credentials_are_too_many_however_they_are_sent(strict: Central) -> None:
    """As it was tried: a guess first, to be looked up, and a good one last, to be counted for."""
    statuses: list[int] = []
    for number in range(10):
        assert (await strict.platform.get("/v1/me")).status == 200
        pair = [bearer(f"pk_guess_{number}"), bearer(TOKEN)]
        statuses.append((await send(strict, "GET /v1/me", [("Host", "x"), *pair]))[0])
    assert (statuses.count(400), statuses.count(429)) == (3, 7)


@pytest.mark.parametrize("name", sorted(header.decode() for header in SINGLE))
async def test_what_decides_something_is_refused_if_it_is_there_twice(
    central: Central, tenant: Tenant, name: str
) -> None:
    values = {"content-length": "0", "transfer-encoding": "chunked", "upgrade": "websocket"}
    twice = [(name, values.get(name, "x"))] * 2
    own = [("Host", "x")] if name != "host" else []
    own += [bearer(TOKEN)] if name != "authorization" else []
    status, problem = await send(central, "GET /v1/me", [*own, *twice])
    assert status == 400
    # The parser itself refuses what would make one body two.
    assert problem.get("code", "header_repeated") == "header_repeated"
    assert problem or name in ("content-length", "transfer-encoding")


async def test_a_repeated_header_is_refused_for_a_socket_too(
    central: Central, tenant: Tenant
) -> None:
    handshake = [
        ("Host", "x"), ("Upgrade", "websocket"), ("Connection", "Upgrade"),
        ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ]  # fmt: skip
    pair = [bearer("pk_bad"), bearer(TOKEN)]
    status, problem = await send(central, "GET /v1/ws", [*handshake, *pair])
    assert (status, problem["code"]) == (400, "header_repeated")


async def test_what_is_a_list_may_come_in_several_lines(central: Central) -> None:
    lines = [("X-Forwarded-For", "203.0.113.9"), ("X-Forwarded-For", "198.51.100.1")]
    lines += [("Accept", "text/html"), ("Accept", "application/json")]
    status, _ = await send(central, "GET /v1/me", [("Host", "x"), bearer(TOKEN), *lines])
    assert status == 200
