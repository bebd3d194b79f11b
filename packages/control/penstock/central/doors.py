"""The two doors to the event log: server-sent events, and a WebSocket.

A stream outlives the moment in which its reader was let in, so who reads is asked again
before anything is given that happened later: a key may be revoked, a token run out, a role
be taken, a rule forbid it.

Both doors give what `_told` gives. Its last word is why the stream ends, and both pass that on:
a reader is never left with a connection on which nothing comes any more.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Final

import orjson
from fastapi import APIRouter, Header, Query, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse

from penstock.central.access.authorization import Resource, authorize, permits
from penstock.central.allocations import service as allocations
from penstock.kernel import events, numbers
from penstock.kernel.actor import Actor
from penstock.kernel.db import Database
from penstock.kernel.errors import Invalid, Problem, Restarting
from penstock.kernel.events import Event
from penstock.kernel.http import web
from penstock.kernel.http.problems import render
from penstock.kernel.http.unexpected import RESTARTING
from penstock.kernel.http.web import BareRoute, Caller
from penstock.kernel.wakeups import Wakeups
from penstock_contracts.ids import AllocationId

BELIEVED_S: Final = 2.0  # how long it counts that a reader may read
HEARTBEAT_S: Final = 15.0  # the log is read this often, though nobody tells of anything new
SUBJECT_LENGTH_MAX: Final = 64
CLOSE_CODES: Final = {500: 1011, 503: 1013}  # others are 4000 and the status
REASON_BYTES_MAX: Final = 123  # what a close frame has room for
TAKES_NOTHING: Final = 1003, "this stream only tells; it takes no messages"
# How it is said that the other side is gone. The last is uvicorn's word while it ends a socket.
GONE: Final = (WebSocketDisconnect, RuntimeError)
router = APIRouter(tags=["events"], route_class=BareRoute)


@dataclass(frozen=True)
class End:
    """Why a stream does not go on. Its reader resumes after the last event that it saw."""

    problem: Problem

    @property
    def code(self) -> int:
        if isinstance(self.problem, Restarting):
            return RESTARTING
        return CLOSE_CODES.get(self.problem.status, 4000 + self.problem.status)

    @property
    def reason(self) -> str:
        line = " ".join(self.problem.detail.split())
        return line.encode()[:REASON_BYTES_MAX].decode(errors="ignore")


async def _start(database: Database, actor: Actor, last: str | None) -> int:
    """The sequence to go on from: what the reader saw last, or now."""
    if last is not None:
        seen = numbers.whole(last)
        if seen is None:
            raise Invalid("the event to go on after must be the id of an event of this log")
        async with database.transaction(tenant=actor.tenant_id) as tx:
            await events.refuse_trimmed(tx, seen)
        return seen
    async with database.transaction(tenant=actor.tenant_id) as tx:
        return await events.head(tx)


async def _authorize(database: Database, actor: Actor, subject: str | None) -> None:
    """The log is the tenant's as a whole; those who see a part may follow a lease of theirs."""
    everything = Resource("event", None, actor.tenant_id)
    if permits(actor, "event.view", everything):
        return
    if subject is None or not subject.startswith(AllocationId.prefix):
        authorize(actor, "event.view", everything)
    async with database.transaction(tenant=actor.tenant_id) as tx:
        await allocations.get(tx, actor, str(subject))


async def _told(
    connection: Request | WebSocket, actor: Actor, after: int, subject: str | None
) -> AsyncIterator[Sequence[Event] | End]:
    """What happens, for as long as it can be told; then why it cannot any more."""
    try:
        async for batch in _follow(connection, actor, after, subject):
            yield batch
    except Exception as error:
        yield End(web.problem_of(error, connection.scope["path"]))


async def _follow(
    connection: Request | WebSocket, actor: Actor, after: int, subject: str | None
) -> AsyncIterator[Sequence[Event]]:
    """What happens, for as long as the reader may know of it; then its refusal is raised."""
    state = connection.app.state
    database: Database = state.database
    wakeups: Wakeups = state.wakeups
    asked_at = time.monotonic()
    async for batch in events.follow(
        database,
        wakeups,
        tenant=actor.tenant_id,
        after=after,
        subject=subject,
        stopping=state.stopping,
        heartbeat_s=HEARTBEAT_S,
    ):
        if time.monotonic() - asked_at >= BELIEVED_S:
            await _authorize(database, await state.authenticate(connection), subject)
            asked_at = time.monotonic()
        yield batch


@router.get("/v1/events", response_class=StreamingResponse, openapi_extra={"x-refusals": ["410"]})
async def stream_events(
    request: Request,
    actor: Caller,
    subject: Annotated[str | None, Query(max_length=SUBJECT_LENGTH_MAX)] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """What happens, as it happens (SSE). Resumes after `Last-Event-ID`; without it, from now.
    With 0, it begins with all that the log has. What is not kept any more is 410, never left out.

    The stream ends when it cannot go on, and a comment says why: ask again, and you are told or let
    in."""
    database: Database = request.app.state.database
    await _authorize(database, actor, subject)
    after = await _start(database, actor, last_event_id)
    lines = _lines(_told(request, actor, after, subject))
    return StreamingResponse(lines, media_type="text/event-stream")


async def _lines(told: AsyncIterator[Sequence[Event] | End]) -> AsyncIterator[bytes]:
    yield b": penstock events\n\n"
    async for batch in told:
        if isinstance(batch, End):
            yield f": this stream ends: {batch.reason}\n\n".encode()
            return
        if not batch:
            yield b": still here\n\n"
        for event in batch:
            data = orjson.dumps(event.envelope())
            head = f"id: {event.seq}\nevent: {event.type}\ndata: ".encode()
            yield head + data + b"\n\n"


@router.websocket("/v1/ws")
async def websocket_events(socket: WebSocket) -> None:
    """The same envelopes over a WebSocket. `?after=SEQ` resumes, `?subject=` filters.

    It is closed with a reason when it cannot go on: 1013 if it can be resumed a little later, 1011
    for a fault here, 4000 and the status of the refusal (4401, 4403) if the reader may not read on.
    """
    try:
        actor, after = await _enter(socket)
    except Exception as error:
        refusal = web.problem_of(error, socket.scope["path"])
        web.note_refusal(socket, "GET", socket.scope["path"], refusal)
        await socket.send_denial_response(render(refusal, socket.state.correlation_id))
        return
    await socket.accept()
    ways = [
        asyncio.create_task(_tell(socket, actor, after)),
        asyncio.create_task(_hear(socket)),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _enter(socket: WebSocket) -> tuple[Actor, int]:
    """Who it is, and after which event they go on."""
    web.refuse_unknown_parameters(socket, {"after", "subject"})
    state, subject = socket.app.state, socket.query_params.get("subject")
    if subject is not None and len(subject) > SUBJECT_LENGTH_MAX:
        raise Invalid(f"subject: it has at most {SUBJECT_LENGTH_MAX} characters")
    actor: Actor = await state.authenticate(socket)
    socket.state.actor = actor
    await _authorize(state.database, actor, subject)
    return actor, await _start(state.database, actor, socket.query_params.get("after"))


async def _tell(socket: WebSocket, actor: Actor, after: int) -> None:
    """Ends when the stream does, which closes the socket, or when the reader is gone."""
    subject = socket.query_params.get("subject")
    with suppress(*GONE):
        async for batch in _told(socket, actor, after, subject):
            if isinstance(batch, End):
                await socket.close(batch.code, batch.reason)
                return
            for event in batch:
                await socket.send_text(orjson.dumps(event.envelope()).decode())


async def _hear(socket: WebSocket) -> None:
    """Ends when the reader leaves, or says something."""
    message = await socket.receive()
    if message["type"] == "websocket.receive":
        with suppress(*GONE):
            await socket.close(*TAKES_NOTHING)
