"""HTTP of a realm: found by its name in the path, before anyone is known."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Annotated, Any, Final

from fastapi import Depends, Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from penstock.central.realms import parameters
from penstock.central.realms.model import Realm
from penstock.central.realms.parameters import Asked, Malformed
from penstock.central.realms.replies import Reply
from penstock.central.realms.service import Realms
from penstock.kernel.db import Tx
from penstock.kernel.http import gateway
from penstock.kernel.http.gateway import Visitor

FORM: Final = "application/x-www-form-urlencoded"


class RealmRoute(APIRoute):
    """Finds the realm. Opens no transaction: what has to be computed is between two."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            realms: Realms = request.app.state.realms
            request.state.realm = await realms.find(request.path_params["name"])
            try:
                return await handle(request)
            except Malformed as error:
                return self.refuse(request.state.realm, error)

        return handler

    def refuse(self, realm: Realm, error: Malformed) -> Response:
        return refusal(error.error, str(error))


def _realm(request: Request) -> Realm:
    realm: Realm = request.state.realm
    return realm


def _realms(request: Request) -> Realms:
    realms: Realms = request.app.state.realms
    return realms


Here = Annotated[Realm, Depends(_realm)]
All = Annotated[Realms, Depends(_realms)]


@asynccontextmanager
async def transaction(request: Request) -> AsyncGenerator[Tx, None]:
    """Behind the wall of the realm's tenant."""
    realms, realm = _realms(request), _realm(request)
    async with realms.database.transaction(
        tenant=realm.tenant_id, correlation_id=request.state.correlation_id
    ) as tx:
        yield tx


def address(request: Request) -> str:
    """Whom the request counts for, while nobody knows whose it is."""
    visitor: Visitor = request.state.visitor
    return visitor.address


async def asked(request: Request, path: str) -> Asked:
    """What a client asks of a protocol endpoint."""
    if request.method == "POST" and query(request):
        raise Malformed("parameters belong in the body: an address is logged on its way")
    given = parameters.read(await encoded(request))
    authorization = gateway.authorization(request)
    parameters.check_credentials(authorization, given)
    return Asked(
        request.method,
        _realm(request).at(path),
        given,
        authorization,
        request.headers.get("user-agent", "")[:200],
    )


def query(request: Request) -> str:
    """As it was sent. (`request.url` is made with what `Host` says.)"""
    sent: bytes = request.scope["query_string"]
    return sent.decode("latin-1")


async def encoded(request: Request) -> str:
    """The query of a GET, the form of a POST."""
    if request.method == "GET":
        return query(request)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Malformed(f"the body must be {FORM}")
    try:
        return (await request.body()).decode("ascii")
    except UnicodeDecodeError:
        raise Malformed("the body cannot be read") from None


def respond(reply: Reply) -> Response:
    """A protocol answer as it goes out."""
    kept = {name: value for name, value in reply.headers.items() if name != "Content-Type"}
    kept = {name: value for name, value in kept.items() if name != "Cache-Control"}
    return JSONResponse(dict(reply.body), reply.status, kept)


def refusal(error: str, description: str, status: int = 400) -> Response:
    return JSONResponse({"error": error, "error_description": description}, status)
