"""The two doors to the event log: server-sent events, and a WebSocket.

A stream outlives the moment in which its reader was let in, so who reads is asked again
before anything is given that happened later: a key may be revoked, a token run out, a role
be taken, a rule forbid it.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Final

import orjson
from fastapi import APIRouter, Header, Query, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse

from penstock.central.access.authorization import Resource, authorize, permits
from penstock.central.allocations import service as allocations
from penstock.kernel import events, web
from penstock.kernel.actor import Actor
from penstock.kernel.db import Database
from penstock.kernel.errors import Invalid, Problem, Restarting
from penstock.kernel.events import Event
from penstock.kernel.unexpected import RESTARTING
from penstock.kernel.wakeups import Wakeups
from penstock.kernel.web import BareRoute, Caller
from penstock_contracts.ids import AllocationId

BELIEVED_S: Final = 2.0  # how long it counts that a reader may read
router = APIRouter(tags=["events"], route_class=BareRoute)


async def _start(database: Database, actor: Actor, last: str | None) -> int:
    """The sequence to go on from: what the reader saw last, or now."""
    if last is not None:
        if not last.isdigit() or len(last) > 18:
            raise Invalid("Last-Event-ID must be the id of an event of this log")
        return int(last)
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


@router.get("/v1/events", response_class=StreamingResponse)
async def stream_events(
    request: Request,
    actor: Caller,
    subject: Annotated[str | None, Query(max_length=64)] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """What happens, as it happens (SSE). Resumes after `Last-Event-ID`; without it, from now."""
    database: Database = request.app.state.database
    await _authorize(database, actor, subject)
    after = await _start(database, actor, last_event_id)
    followed = _follow(request, actor, after, subject)
    return StreamingResponse(_lines(followed), media_type="text/event-stream")


async def _lines(followed: AsyncIterator[Sequence[Event]]) -> AsyncIterator[bytes]:
    """Ends when the reader may not read any more, or this replica ends, and says why."""
    yield b": penstock events\n\n"
    try:
        async for batch in followed:
            if not batch:
                yield b": still here\n\n"
            for event in batch:
                data = orjson.dumps(event.envelope())
                head = f"id: {event.seq}\nevent: {event.type}\ndata: ".encode()
                yield head + data + b"\n\n"
    except Problem as refusal:
        yield f": {refusal.detail}\n\n".encode()


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
    ):
        if time.monotonic() - asked_at >= BELIEVED_S:
            await _authorize(database, await state.authenticate(connection), subject)
            asked_at = time.monotonic()
        yield batch


@router.websocket("/v1/ws")
async def websocket_events(socket: WebSocket) -> None:
    """The same envelopes over a WebSocket. `?after=SEQ` resumes, `?subject=` filters."""
    try:
        actor, after = await _enter(socket)
    except Problem as refusal:
        await _close(socket, refusal)
        return
    await socket.accept()
    sending = asyncio.create_task(_send(socket, actor, after))
    try:
        while True:
            await socket.receive_text()  # nothing is expected; this notices the end
    except WebSocketDisconnect:
        pass
    finally:
        sending.cancel()


async def _enter(socket: WebSocket) -> tuple[Actor, int]:
    """Who it is, and after which event they go on."""
    state = socket.app.state
    try:
        actor: Actor = await state.authenticate(socket)
        socket.state.actor = actor
        await _authorize(state.database, actor, socket.query_params.get("subject"))
    except Problem as refusal:
        web.note_refusal(socket, "GET", socket.url.path, refusal)
        raise
    return actor, await _start(state.database, actor, socket.query_params.get("after"))


async def _send(socket: WebSocket, actor: Actor, after: int) -> None:
    try:
        async for batch in _follow(socket, actor, after, socket.query_params.get("subject")):
            for event in batch:
                await socket.send_text(orjson.dumps(event.envelope()).decode())
    except Problem as refusal:
        await _close(socket, refusal)


async def _close(socket: WebSocket, refusal: Problem) -> None:
    restarting = isinstance(refusal, Restarting)
    code = RESTARTING if restarting else 4400 + refusal.status % 100
    await socket.close(code=code, reason=refusal.detail[:120])
