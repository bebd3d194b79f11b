"""The HTTP edge: one request is one transaction, every refusal is a problem+json.

TxRoute opens the transaction, replays or records the answer of an idempotent POST,
and commits before the answer is sent.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Annotated, Any, Final, TypeVar, get_type_hints

import asyncpg
from fastapi import Depends, FastAPI, Request, Response, WebSocket
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from penstock.kernel import db, log, shapes, shortages
from penstock.kernel.actor import Actor
from penstock.kernel.db import Database
from penstock.kernel.denials import REFUSED, Denials
from penstock.kernel.errors import Invalid, Problem, Unauthenticated, Unavailable
from penstock.kernel.http import idempotency, reasons
from penstock.kernel.http.idempotency import Claim
from penstock.kernel.http.problems import Refused, as_problem, problem_response
from penstock.kernel.http.unexpected import unexpected

logger = log.get(__name__)
PAGE_MAX: Final = 500

B = TypeVar("B", bound="Body")
Authenticate = Callable[[Request], Awaitable[Actor]]


class Body(BaseModel):
    """A request body: exactly its fields, exactly their types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class View(BaseModel):
    """An answer."""

    model_config = ConfigDict(frozen=True)


class BareRoute(APIRoute):
    """Authenticates and refuses unknown query parameters; opens no transaction."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            refuse_unknown_parameters(request, self.known_parameters)
            request.state.actor = await request.app.state.authenticate(request)
            return await handle(request)

        return handler

    @cached_property
    def known_parameters(self) -> set[str]:
        return query_parameters(self.dependant)


class TxRoute(BareRoute):
    """One request, one transaction."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = APIRoute.get_route_handler(self)

        async def handler(request: Request) -> Response:
            refuse_unknown_parameters(request, self.known_parameters)
            actor: Actor = await request.app.state.authenticate(request)
            request.state.actor = actor
            database: Database = request.app.state.database
            claim: Claim | None = None
            try:
                async with database.transaction(
                    tenant=actor.tenant_id,
                    correlation_id=request.state.correlation_id,
                    reason=reasons.of(request),
                ) as tx:
                    request.state.tx = tx
                    claim = await idempotency.claim(tx, actor, request)
                    if claim is not None and claim.answer is not None:
                        return claim.answer
                    response = await handle(request)
                    if claim is not None:
                        secret = getattr(request.state, "shown_once", False)
                        await idempotency.record(tx, claim, response, secret=secret)
            except Problem as refusal:
                if claim is not None:
                    await idempotency.remember_refusal(database, claim, refusal)
                raise
            return response

        return handler


def refuse_unknown_parameters(connection: HTTPConnection, known: AbstractSet[str]) -> None:
    if not connection.scope["query_string"]:
        return
    unknown = sorted(connection.query_params.keys() - known)
    if unknown:
        raise Invalid(
            f"{unknown[0][:64]!r} is not a parameter here; "
            + (f"the parameters are {', '.join(sorted(known))}" if known else "there are none")
        )


class LeanRoute(APIRoute):
    """For a route that must cost little (see `direct`): its endpoint takes the request and the
    body, and makes the response itself. It opens no transaction."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        return self.respond

    async def respond(self, request: Request) -> Response:
        refuse_unknown_parameters(request, frozenset())
        request.state.actor = await self.authenticate(request)
        return await self.answer(request)

    async def answer(self, request: Request) -> Response:
        """To a caller that is known."""
        response: Response = await self.endpoint(request, parse(self.body, await request.body()))
        return response

    @cached_property
    def body(self) -> type[Body]:
        body: type[Body] = get_type_hints(self.endpoint)["body"]
        return body

    async def authenticate(self, request: Request) -> Actor:
        actor: Actor = await request.app.state.authenticate(request)
        return actor


def parse(model: type[B], body: bytes) -> B:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False)) from None


def query_parameters(dependant: Dependant) -> set[str]:
    """The names of all query parameters that a route takes, through whatever dependency."""
    own = {parameter.alias for parameter in dependant.query_params}
    return own.union(*(query_parameters(inner) for inner in dependant.dependencies))


# Dependencies are coroutines even where they wait for nothing: others would get a thread each.
async def _tx(request: Request) -> db.Tx:
    tx: db.Tx = request.state.tx
    return tx


async def _actor(request: Request) -> Actor:
    actor: Actor = request.state.actor
    return actor


async def _correlation_id(request: Request) -> str:
    value: str = request.state.correlation_id
    return value


async def shown_once(request: Request) -> None:
    """Dependency of a route whose answer holds a secret: it is never stored, nor repeated."""
    request.state.shown_once = True


Tx = Annotated[db.Tx, Depends(_tx)]
Caller = Annotated[Actor, Depends(_actor)]
CorrelationId = Annotated[str, Depends(_correlation_id)]


def install(
    app: FastAPI,
    *,
    database: Database,
    authenticate: Authenticate,
    denials: Denials,
    refused: Refused = as_problem,
) -> None:
    """Give the app what its routes need, and its answers to what goes wrong."""
    app.state.database = database
    app.state.denials = denials
    app.state.authenticate = authenticate
    app.state.refused = refused
    app.add_exception_handler(Problem, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    # Each by itself: what is left to Exception is raised again, and logged once more.
    for failure in (asyncpg.DataError, *db.RACED, *shortages.SHORT, *db.LOST, Exception):
        app.add_exception_handler(failure, _on_failure)


async def _on_problem(request: Request, error: Exception) -> Response:
    problem = error if isinstance(error, Problem) else Problem(str(error))
    route = getattr(request.scope.get("route"), "path", "")
    note_refusal(request, request.method, route, problem)
    refused: Refused = request.app.state.refused
    return refused(request.scope, problem, request.state.correlation_id)


def note_refusal(
    connection: Request | WebSocket, method: str, route: str, refusal: Problem
) -> None:
    """For the audit log: what was denied to whom, or from where an unknown credential came."""
    actor: Actor | None = getattr(connection.state, "actor", None)
    denials: Denials = connection.app.state.denials
    path, correlation_id = connection.scope["path"], connection.state.correlation_id
    if actor is not None:
        denials.note(actor, method, route, path, refusal, correlation_id)
    elif isinstance(refusal, Unauthenticated) and connection.state.visitor.credential:
        address: str = connection.state.visitor.address
        denials.note_failure(
            REFUSED, address=address, subject=address, reason=refusal.detail,
            correlation=correlation_id, first=f"{method} {route}",
        )  # fmt: skip


async def _on_invalid(request: Request, error: Exception) -> Response:
    errors: list[dict[str, str]] = []
    if isinstance(error, RequestValidationError):
        if unread := _unreadable(error.errors()):
            return problem_response(unread, request)
        for item in error.errors():
            where = [str(part) for part in item["loc"] if part not in ("body", "query", "path")]
            errors.append({"field": ".".join(where)[:200] or "body", "message": _words(item)})
    detail = "; ".join(f"{item['field']}: {item['message']}" for item in errors[:5])
    return problem_response(Invalid(detail or "invalid", extras={"errors": errors}), request)


def _words(item: Mapping[str, Any]) -> str:
    if item["type"] == "string_pattern_mismatch":
        return shapes.in_words(item["ctx"]["pattern"])
    return str(item["msg"]).removeprefix("Value error, ")


def _unreadable(found: Sequence[Any]) -> Invalid | None:
    """Of a body that is no JSON: where it ends to be some, as far as that is known."""
    for item in found:
        if item["type"] == "json_invalid":
            at = [part for part in item["loc"] if isinstance(part, int)]
            detail = "the body cannot be read as JSON" + (f" (at byte {at[0]})" if at else "")
            return Invalid(detail, extras={"errors": [{"field": "body", "message": detail}]})
    return None


async def _on_http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    path: str = request.scope["path"]
    slash = "leave out the slash at the end" if len(path) > 1 and path.endswith("/") else None
    problem = Problem(f"{request.method} {path} is not something this API offers", suggestion=slash)
    if status == 400:
        problem = Problem("the body cannot be read as JSON")
    problem.code = {400: "bad_request", 404: "not_found", 405: "method_not_allowed"}.get(
        status, "http"
    )
    return problem_response(problem, request, status=status)


async def _on_failure(request: Request, error: Exception) -> Response:
    problem = problem_of(error, request.scope["path"])
    if isinstance(error, shortages.SHORT):  # people at a realm's pages are told on a page
        refused: Refused = request.app.state.refused
        return refused(request.scope, problem, request.state.correlation_id)
    return problem_response(problem, request)


def problem_of(error: Exception, path: str) -> Problem:
    """What to tell of whatever went wrong, whichever way it is told. Logs what nobody expected."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, asyncpg.DataError):  # text with NUL is valid in JSON and in a URL
        return Invalid("a value has a character or a size that cannot be stored")
    if isinstance(error, db.RACED):
        return Unavailable("two requests stood in each other's way and neither happened; ask again")
    short = shortages.refusal(error)
    if short is not None:
        logger.warning("database short", code=short.code, exc_info=error)
        return short
    if isinstance(error, db.LOST):
        return Unavailable("the database does not answer; what you asked may not have happened")
    logger.error("unexpected", exc_info=error, path=path)
    return unexpected()
