"""Whoever takes nothing of what is sent holds neither memory nor a place for it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final

import pytest
from starlette.types import Receive, Scope, Send

from penstock.kernel.http import ops, unread
from penstock.local import ports

pytestmark = pytest.mark.anyio

CHUNK: Final = b"x" * 65_536
UPGRADE: Final = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
REQUEST: Final = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The loop that a plane runs on: its transports are its own."""
    return "asyncio", {"use_uvloop": True}


class Endless:
    """Sends without an end, or nothing at all; `ended` is set when the other side is gone."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.ended = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self._send(scope["type"] == "websocket", send))
        while (await receive())["type"] not in ("http.disconnect", "websocket.disconnect"):
            pass
        sending.cancel()
        self.ended.set()

    async def _send(self, is_socket: bool, send: Send) -> None:
        if is_socket:
            await send({"type": "websocket.accept"})
        else:
            await send({"type": "http.response.start", "status": 200})
        with suppress(OSError):
            while not self.quiet:
                if is_socket:
                    await send({"type": "websocket.send", "bytes": CHUNK})
                else:
                    await send({"type": "http.response.body", "body": CHUNK, "more_body": True})


@asynccontextmanager
async def served(app: Endless) -> AsyncGenerator[int, None]:
    port = ports.pick([])
    server = ops.server(app, ports.address(port))
    running = asyncio.create_task(ops.run(server))
    await server.listening.wait()
    try:
        yield port
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread, "UNREAD_S_MAX", 0.5)


@pytest.mark.parametrize("head", [REQUEST, UPGRADE], ids=["an answer", "a socket"])
async def test_who_reads_nothing_is_let_go(head: bytes) -> None:
    app = Endless()
    async with served(app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.write(head)
        async with asyncio.timeout(20):
            await app.ended.wait()
        assert reader.at_eof() is False, "it was not read to its end"
        writer.close()


@pytest.mark.parametrize("head", [REQUEST, UPGRADE], ids=["an answer", "a socket"])
async def test_who_reads_slowly_is_not_let_go(head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slowly, yet more than the system keeps on the way: what it keeps, nobody sees taken."""
    monkeypatch.setattr(unread, "UNREAD_S_MAX", 1.5)
    app = Endless()
    async with served(app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.write(head)
        for _ in range(25):
            await reader.readexactly(8 * len(CHUNK))
            await asyncio.sleep(0.1)
        assert not app.ended.is_set()
        writer.close()
        async with asyncio.timeout(20):
            await app.ended.wait()


async def test_answers_to_pings_that_nobody_reads_do_not_pile_up() -> None:
    """A server answers every ping. So it stops to read while its answers are not read."""
    app = Endless(quiet=True)
    pings = (b"\x89\xfd" + bytes(4) + b"p" * 125) * 1000
    async with served(app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.write(UPGRADE)
        assert await reader.readexactly(12) == b"HTTP/1.1 101"
        with suppress(ConnectionError):
            for _ in range(400):  # some 50 MB: more than the system keeps on the way
                writer.write(pings)
                await writer.drain()
        async with asyncio.timeout(10):
            await app.ended.wait()
        writer.close()
