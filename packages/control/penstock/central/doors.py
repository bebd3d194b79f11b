"""The two doors to the event log: server-sent events, and a WebSocket."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import orjson
from fastapi import APIRouter, Header, Query, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse

from penstock.central.access.authorization import Resource, authorize, permits
from penstock.central.allocations import service as allocations
from penstock.kernel import events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Database
from penstock.kernel.errors import Invalid, Problem
from penstock.kernel.wakeups import Wakeups
from penstock.kernel.web import BareRoute, Caller
from penstock_contracts.ids import AllocationId

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
    wakeups: Wakeups = request.app.state.wakeups
    after = await _start(database, actor, last_event_id)

    async def lines() -> AsyncIterator[bytes]:
        yield b": penstock events\n\n"
        followed = events.follow(
            database, wakeups, tenant=actor.tenant_id, after=after, subject=subject
        )
        async for batch in followed:
            if not batch:
                yield b": still here\n\n"
            for event in batch:
                data = orjson.dumps(event.envelope())
                head = f"id: {event.seq}\nevent: {event.type}\ndata: ".encode()
                yield head + data + b"\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


@router.websocket("/v1/ws")
async def websocket_events(socket: WebSocket) -> None:
    """The same envelopes over a WebSocket. `?after=SEQ` resumes, `?subject=` filters."""
    try:
        actor, after = await _enter(socket)
    except Problem as refusal:
        await socket.close(code=4400 + refusal.status % 100, reason=refusal.detail[:120])
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
    actor: Actor = await state.authenticate(socket)
    try:
        await _authorize(state.database, actor, socket.query_params.get("subject"))
    except Problem as refusal:
        path = socket.url.path
        state.denials.note(actor, "GET", path, path, refusal, socket.state.correlation_id)
        raise
    return actor, await _start(state.database, actor, socket.query_params.get("after"))


async def _send(socket: WebSocket, actor: Actor, after: int) -> None:
    state = socket.app.state
    subject = socket.query_params.get("subject")
    async for batch in events.follow(
        state.database, state.wakeups, tenant=actor.tenant_id, after=after, subject=subject
    ):
        for event in batch:
            await socket.send_text(orjson.dumps(event.envelope()).decode())
