"""The outermost layer of HTTP: correlation ids, limits, fair admission, metrics, safe headers."""

import asyncio
import re
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

import structlog
from prometheus_client import Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.kernel.errors import Problem, TooLarge, TooSlow, Unavailable
from penstock.kernel.http import clients, heads, safety
from penstock.kernel.http.clients import Client
from penstock.kernel.http.gateway import Gateway, Visitor
from penstock.kernel.http.problems import Refused, as_problem
from penstock.kernel.stalls import Stalls
from penstock.kernel.stopping import Stopping
from penstock_contracts.ids import EventId

BODY_BYTES_MAX: Final = 64 * 1024
BODY_S_MAX: Final = 20.0
CORRELATION: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
NONE: Final = re.compile(r"(?!)")
CLOSE: Final = ((b"connection", b"close"),)
SECONDS: Final = Histogram(
    "penstock_http_request_seconds", "Time to answer", ["method", "route", "status"]
)


def new_correlation_id() -> str:
    return EventId.new().suffix


@dataclass(frozen=True)
class Doors:
    """Paths that are let in by rules of their own."""

    always: frozenset[str] = frozenset()  # health: asked most when there is least room
    streams: frozenset[str] = frozenset()  # answers without an end
    attempts: re.Pattern[str] = NONE  # a method and a path: what guesses, or is dear

    def attempted(self, scope: Scope) -> bool:
        return self.attempts.match(f"{scope.get('method')} {scope['path']}") is not None


class Edge:
    """ASGI middleware. What is too large or too much is refused before anything reads it."""

    def __init__(
        self,
        app: ASGIApp,
        gateway: Gateway,
        doors: Doors,
        *,
        hsts_s: int = 0,
        refused: Refused = as_problem,
        stalls: Stalls | None = None,
        stopping: Stopping | None = None,
    ) -> None:
        self.app = app
        self._gateway = gateway
        self._doors = doors
        self._hsts_s = hsts_s
        self._refused = refused
        self._stalls = stalls or Stalls()
        self._stopping = stopping or Stopping()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        given = heads.only(scope, b"x-correlation-id").decode("latin-1")
        correlation_id = given if CORRELATION.fullmatch(given) else new_correlation_id()
        attempt = self._doors.attempted(scope)
        visitor = self._gateway.meet(scope, attempt=attempt)
        scope.setdefault("state", {}).update(correlation_id=correlation_id, visitor=visitor)
        structlog.contextvars.bind_contextvars(correlation_id=correlation_id)  # in this task
        if scope["type"] == "websocket":
            await self._connect(scope, receive, send, correlation_id, visitor)
        else:
            await self._serve(scope, receive, send, correlation_id, visitor)

    async def _connect(
        self, scope: Scope, receive: Receive, send: Send, correlation_id: str, visitor: Visitor
    ) -> None:
        """A socket that is not opened is refused as any request is."""

        async def answer(message: Message) -> None:
            if message["type"] == "websocket.http.response.start":
                self._dress(message, correlation_id, visitor)
            await send(message)

        try:
            with self._admitted(scope, visitor):
                await self.app(scope, receive, answer)
        except Problem as refusal:
            await self._refused(scope, refusal, correlation_id)(scope, receive, answer)

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, correlation_id: str, visitor: Visitor
    ) -> None:
        started = time.perf_counter()
        status = 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._dress(message, correlation_id, visitor)
            await send(message)

        try:
            if scope["path"] in self._doors.always:
                await self.app(scope, receive, answer)
            else:
                with self._admitted(scope, visitor):
                    body = await _read_body(scope, receive)
                    self._begin(scope)
                    await self.app(scope, _replay(body, receive), answer)
        except Problem as refusal:
            await self._refused(scope, refusal, correlation_id)(scope, receive, answer)
        finally:
            route = getattr(scope.get("route"), "path", "unknown")
            SECONDS.labels(scope["method"], route, status).observe(time.perf_counter() - started)

    def _dress(self, message: Message, correlation_id: str, visitor: Visitor) -> None:
        """Add what every answer has."""
        given = message.get("headers", [])
        extra = [(b"x-correlation-id", correlation_id.encode()), *_rate(visitor)]
        safe = safety.headers(given, hsts_s=self._hsts_s)
        message["headers"] = [*given, *extra, *safe, *self._parting()]

    def _admitted(self, scope: Scope, visitor: Visitor) -> AbstractContextManager[None]:
        self._gateway.meter(visitor)  # first: what is refused for its head counts too
        refusal = heads.refusal(scope)
        if refusal is not None:
            raise refusal
        self._stopping.refuse()
        return self._gateway.place(visitor, stream=scope["path"] in self._doors.streams)

    def _begin(self, scope: Scope) -> None:
        """The request is whole. Nothing is changed for a client that will not hear of it: it may
        have asked another replica since, and been refused."""
        state = scope["state"]
        client: Client | None = state.get("client")
        state["patience"] = clients.begin(self._stalls, client)
        if client is None or scope["method"] in ("GET", "HEAD"):
            return
        clients.ask_who_left((client,))
        if client.left:
            raise Unavailable("you closed the connection before this was begun; nothing was done")

    def _parting(self) -> Sequence[safety.Header]:
        """A process that will end asks its clients to connect anew, elsewhere."""
        return CLOSE if self._stopping.told else ()


def _rate(visitor: Visitor) -> list[safety.Header]:
    """The three fields that clients read today; the IETF's successor to them is still a draft."""
    level = visitor.level
    if level is None:
        return []
    return [
        (b"ratelimit-limit", b"%d" % level.limit),
        (b"ratelimit-remaining", b"%d" % level.remaining),
        (b"ratelimit-reset", b"%d" % level.full_in_s),
    ]


async def _read_body(scope: Scope, receive: Receive) -> bytes:
    """The whole body, in time."""
    if scope["method"] in ("GET", "HEAD"):
        return b""
    try:
        async with asyncio.timeout(BODY_S_MAX):
            return await _collect(receive)
    except TimeoutError:
        raise TooSlow(f"the body did not arrive within {BODY_S_MAX:g} s") from None


async def _collect(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return body
        body += message.get("body", b"")
        if len(body) > BODY_BYTES_MAX:
            raise TooLarge(f"the body is larger than {BODY_BYTES_MAX} bytes")
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
