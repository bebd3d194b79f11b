"""The outermost layer of HTTP: correlation ids, size limits, metrics, safe headers."""

import re
import time
from typing import Final

import structlog
from prometheus_client import Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.kernel import log
from penstock.kernel.errors import TooLarge
from penstock.kernel.problems import render
from penstock_contracts.ids import EventId

logger = log.get(__name__)

BODY_BYTES_MAX: Final = 64 * 1024
CORRELATION: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
SAFE: Final = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
]
SECONDS: Final = Histogram(
    "penstock_http_request_seconds", "Time to answer", ["method", "route", "status"]
)


def new_correlation_id() -> str:
    return EventId.new().suffix


class Edge:
    """ASGI middleware. Bodies above the limit are refused before anything reads them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        given = headers.get(b"x-correlation-id", b"").decode("latin-1")
        correlation_id = given if CORRELATION.fullmatch(given) else new_correlation_id()
        scope.setdefault("state", {})["correlation_id"] = correlation_id
        with structlog.contextvars.bound_contextvars(correlation_id=correlation_id):
            if scope["type"] == "websocket":
                await self.app(scope, receive, send)
            else:
                await self._serve(scope, receive, send, correlation_id)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, correlation_id: str) -> None:
        started = time.perf_counter()
        status = 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                extra = [(b"x-correlation-id", correlation_id.encode()), *SAFE]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        body = await _read_body(scope, receive)
        if body is None:
            refusal = TooLarge(f"the body is larger than {BODY_BYTES_MAX} bytes")
            await render(refusal, correlation_id)(scope, receive, answer)
        else:
            await self.app(scope, _replay(body, receive), answer)
        route = getattr(scope.get("route"), "path", "unknown")
        SECONDS.labels(scope["method"], route, status).observe(time.perf_counter() - started)


async def _read_body(scope: Scope, receive: Receive) -> bytes | None:
    """The whole body, or None if it is too large."""
    if scope["method"] in ("GET", "HEAD"):
        return b""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return body
        body += message.get("body", b"")
        if len(body) > BODY_BYTES_MAX:
            return None
        if not message.get("more_body", False):
            return body


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
