"""Past the framework or through it: a lean route answers the same."""

from collections.abc import Iterator
from typing import Annotated

import asyncpg
import httpx2
import pytest
from fastapi import APIRouter, FastAPI, Request, Response
from pydantic import Field
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Database
from penstock.kernel.denials import Denials
from penstock.kernel.errors import Conflict, Unauthenticated
from penstock.kernel.http import web
from penstock.kernel.http.direct import Direct
from penstock.kernel.http.gateway import Visitor
from penstock.kernel.http.web import Body, LeanRoute

pytestmark = pytest.mark.anyio

REFUSALS: dict[int, Exception] = {
    1: Conflict("it is taken", code="taken"),
    2: asyncpg.DataError("a NUL"),
    3: asyncpg.DeadlockDetectedError("raced"),
    4: ConnectionResetError("the database is away"),
    5: RuntimeError("nobody thought of this"),
}


class Wish(Body):
    count: Annotated[int, Field(ge=0)]


class Counted(FastAPI):
    """Counts what the framework was asked."""

    calls = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.calls += 1
        await super().__call__(scope, receive, send)


async def grant(request: Request, body: Wish) -> Response:
    if body.count in REFUSALS:
        raise REFUSALS[body.count]
    actor: Actor = request.state.actor
    return Response(f"{actor.name} gets {body.count}", 201)


async def authenticate(request: Request) -> Actor:
    if "authorization" not in request.headers:
        raise Unauthenticated("who is there?")
    return SYSTEM


def lean_app(database: Database) -> tuple[Counted, APIRouter]:
    app, router = Counted(), APIRouter(prefix="/v1/wishes")
    router.add_api_route("", grant, methods=["POST"], route_class_override=LeanRoute)
    denials = Denials(database)
    web.install(app, database=database, authenticate=authenticate, denials=denials)
    app.include_router(router)
    return app, router


def with_state(app: ASGIApp) -> ASGIApp:
    """What the edge adds."""

    async def edge(scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"] = {"correlation_id": "c", "visitor": Visitor("192.0.2.1", b"")}
        await app(scope, receive, send)

    return edge


def requests() -> Iterator[httpx2.Request]:
    url, known = "http://test/v1/wishes", {"authorization": "Bearer x"}
    for count in (0, *REFUSALS, -1):
        yield httpx2.Request("POST", url, json={"count": count}, headers=known)
    yield httpx2.Request("POST", url, json={"count": 0})
    yield httpx2.Request("POST", url, content=b"{", headers=known)
    yield httpx2.Request("POST", f"{url}?more=1", json={"count": 0}, headers=known)
    yield httpx2.Request("GET", url, headers=known)
    yield httpx2.Request("POST", f"{url}/", json={"count": 0}, headers=known)


async def answers(app: ASGIApp) -> list[tuple[int, dict[str, str], bytes]]:
    transport = httpx2.ASGITransport(app=with_state(app), raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport) as client:
        told = [await client.send(request) for request in requests()]
    return [(one.status_code, dict(one.headers), one.content) for one in told]


async def test_it_answers_as_the_app_does(upper: Database) -> None:
    app, router = lean_app(upper)
    through = await answers(app)
    app.calls = 0
    past = await answers(Direct(app, router.routes))
    assert past == through
    assert [status for status, _, _ in past] == [
        201, 409, 422, 503, 503, 500, 422, 401, 422, 422, 405, 307,
    ]  # fmt: skip
    assert app.calls == 2, "another method, and another path"
