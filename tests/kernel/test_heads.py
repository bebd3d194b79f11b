"""A request's head comes in time, or its connection is not held for it."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final

import orjson
import pytest
from starlette.types import Receive, Scope, Send

from penstock.kernel.http import ops
from penstock.kernel.http.heads import BoundedProtocol
from penstock.local import ports

pytestmark = pytest.mark.anyio

LIMIT_S: Final = 0.5
REQUEST: Final = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
ENDLESS: Final = {
    "a head": b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: x\r\n" * 1000,
    "one header": b"GET / HTTP/1.1\r\nX: " + b"x" * 1000,
    "a target": b"GET /" + b"x" * 1000,
    "nothing but empty lines": b"\r\n" * 1000,
    "nothing at all": b"",
}


class Impatient(BoundedProtocol):
    head_s_max = LIMIT_S


@asynccontextmanager
async def served(answer_s: float = 0) -> AsyncGenerator[int, None]:
    """An application that answers `ok`, after a while."""

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await asyncio.sleep(answer_s)
        length = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": b"ok"})

    port = ports.pick([])
    server = ops.server(app, ports.address(port))
    server.config.http = Impatient
    running = asyncio.create_task(ops.run(server))
    await server.listening.wait()
    try:
        yield port
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def dribble(writer: asyncio.StreamWriter, head: bytes) -> None:
    """A byte now and then, and never done. The last comes a little before the limit: what comes
    after a connection is closed would reset it, and take the answer along."""
    with suppress(ConnectionError):
        for byte in head[:9]:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(LIMIT_S / 10)
        await asyncio.Event().wait()


async def held(port: int, head: bytes, *, after: bytes = b"") -> tuple[float, bytes]:
    """How long a connection lasts for a head that never ends, and what was said to it."""
    began = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    if after:
        writer.write(after)
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
    sending = asyncio.create_task(dribble(writer, head))
    try:
        async with asyncio.timeout(10):
            said = await reader.read()
    except ConnectionError:
        said = b""
    finally:
        sending.cancel()
        writer.close()
    return time.monotonic() - began, said


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("after", [b"", REQUEST], ids=["at first", "after a request"])
async def test_a_head_that_never_ends_is_cut_off(name: str, after: bytes) -> None:
    async with served() as port:
        took_s, said = await held(port, ENDLESS[name], after=after)
    assert took_s >= LIMIT_S
    if name.startswith("nothing"):
        assert said == b""
        return
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 Request Timeout")
    assert orjson.loads(body)["code"] == "too_slow"


async def test_a_request_that_takes_long_is_not_a_slow_head(anyio_backend: str) -> None:
    async with served(answer_s=LIMIT_S * 2) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for pipelined in (1, 1, 3):
            writer.write(REQUEST * pipelined)
            for _ in range(pipelined):
                assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        writer.close()


async def test_a_head_in_pieces_is_served_if_it_is_whole_in_time(anyio_backend: str) -> None:
    async with served() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(3):
            for piece in (REQUEST[:10], REQUEST[10:]):
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(LIMIT_S / 5)
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        writer.close()
