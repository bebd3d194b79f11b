"""Whatever goes wrong behind an HTTP server, its client is answered with a problem."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import httpx2
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from penstock.kernel.http import ops
from penstock.kernel.http.ops import Server
from penstock.kernel.loops import Loops
from penstock.local import ports

pytestmark = pytest.mark.anyio

START = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]}


async def breaks(scope: Scope, _receive: Receive, send: Send) -> None:
    match scope["path"]:
        case "/before":
            raise ZeroDivisionError("a detail of ours")
        case "/says-nothing":
            return
        case "/within":
            await send(START)
            raise ZeroDivisionError
        case "/after":
            await send(START)
            await send({"type": "http.response.body", "body": b"it is so."})
            raise ZeroDivisionError
        case "/ever":
            await asyncio.Event().wait()
        case _:
            await send({"type": "websocket.accept"})
            raise ZeroDivisionError


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncGenerator[tuple[Server, httpx2.AsyncClient], None]:
    address = ports.address(ports.pick([]))
    server = ops.server(app, address)
    running = asyncio.create_task(ops.run(server))
    await server.listening.wait()
    try:
        async with httpx2.AsyncClient(base_url=f"http://{address}", trust_env=False) as client:
            yield server, client
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


@pytest.mark.parametrize("path", ["/before", "/says-nothing"])
async def test_a_failure_is_a_problem_and_tells_nothing(path: str) -> None:
    async with served(breaks) as (_, client):
        answer = await client.get(path)
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "internal"
    assert "ours" not in answer.text


async def test_a_failure_within_an_answer_cuts_it_off_and_one_after_it_does_not() -> None:
    async with served(breaks) as (_, client):
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get("/within")
        assert (await client.get("/after")).text == "it is so."


async def test_who_is_not_answered_when_the_server_ends_is_told_so() -> None:
    async with served(breaks) as (server, client):
        asking = asyncio.create_task(client.get("/ever", timeout=30))
        while not server.server_state.tasks:  # noqa: ASYNC110 uvicorn does not tell
            await asyncio.sleep(0)
        await server.finish()
        answer = await asking
    assert (answer.status_code, answer.json()["code"]) == (503, "restarting")
    assert answer.headers["retry-after"] == "1"


async def test_a_websocket_is_closed_with_a_reason() -> None:
    async with served(breaks) as (_, client):
        address = str(client.base_url).replace("http:", "ws:")
        async with connect(f"{address}/ws", proxy=None) as socket:
            await socket.wait_closed()
            assert (socket.close_code, bool(socket.close_reason)) == (1011, True)
        with pytest.raises(InvalidStatus) as refused:
            async with connect(f"{address}/before", proxy=None):
                pass
        assert refused.value.response.status_code == 403


async def test_the_operators_listener_answers_problems_too() -> None:
    app = ops.app({}, Loops("central", "central-1"))
    app.add_route("/broken", lambda _request: 1 / 0)  # pyright: ignore[reportArgumentType]
    async with served(app) as (_, client):
        answer = await client.get("/broken")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
