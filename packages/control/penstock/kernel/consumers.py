"""Durable consumers: each is given every event once, in order, by one process at a time.

A consumer has a cursor, a row of its own. Whoever handles events locks the row, and moves it in
the transaction of the effects: if the process dies in between, nothing happened, and the next
one to get the row goes on from there. So a handler writes to this database and nothing else;
what must leave the plane it writes down for a loop that sends it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from functools import partial
from typing import Final

from prometheus_client import Counter, Gauge

from penstock.kernel import events, log, outgoing
from penstock.kernel.db import RACED, Database, Tx
from penstock.kernel.events import Event
from penstock.kernel.wakeups import Wakeup, Wakeups

AT_ONCE_MAX: Final = 200  # events in one transaction
RETRY_S: Final = 0.1  # after a failure; twice as long after each further one
RETRY_S_MAX: Final = 30.0
BUSY_S: Final = 1.0  # while another process has the cursor, which may die with it

FAILURES: Final = Counter(
    "penstock_consumer_failures", "Times that events were not handled", ["consumer"]
)
HANDLED: Final = Counter("penstock_consumer_events", "Events handled", ["consumer"])
BEHIND: Final = Gauge("penstock_consumer_behind", "Events not handled yet", ["consumer"])
logger = log.get(__name__)

Handler = Callable[[Tx, Event], Awaitable[None]]


class Begin(StrEnum):
    """Where a consumer begins that was not there before."""

    START = "start"  # with all that the log still has
    HEAD = "head"  # with what happens from now on


class NotHandled(Exception):
    """The handler failed with this event. Neither it nor what came with it was handled."""

    def __init__(self, event: Event) -> None:
        super().__init__(f"event {event.seq} ({event.type} of {event.subject}) was not handled")


async def consume(
    database: Database,
    wakeups: Wakeups,
    name: str,
    handler: Handler,
    *,
    begin: Begin,
    at_once_max: int = AT_ONCE_MAX,
) -> None:
    """Ensures that the handler's effects of every event are there once, for ever.

    A handler that fails is tried again with growing pauses; nothing overtakes the event that it
    fails with.
    """
    at_once, pause_s = at_once_max, RETRY_S
    with wakeups.subscribe(outgoing.EVENTS) as wakeup:
        await database.run(partial(_begin, name=name, begin=begin))
        while True:
            handle = partial(_handle, name=name, handler=handler, at_once=at_once)
            try:
                handled = await database.run(handle)
            except Exception as failure:  # whatever it is, it is tried again
                _say(name, failure, pause_s)
                await asyncio.sleep(pause_s)
                # One by one up to the one that fails: those before it are handled.
                at_once, pause_s = 1, min(pause_s * 2, RETRY_S_MAX)
                continue
            if handled:
                HANDLED.labels(name).inc(handled)
                at_once, pause_s = min(at_once * 2, at_once_max), RETRY_S
            else:
                await _wait(wakeup, busy=handled is None)


async def _begin(tx: Tx, name: str, begin: Begin) -> None:
    await tx.execute(
        """
        INSERT INTO event_consumers (name, seq, begun_at, moved_at)
        SELECT $1, CASE WHEN $2 THEN coalesce((SELECT min(seq) - 1 FROM events), head.seq)
            ELSE head.seq END, $3, $3
        FROM (SELECT coalesce(max(seq), 0) AS seq FROM feed_heads WHERE feed = $4) AS head
        ON CONFLICT (name) DO NOTHING
        """,
        name,
        begin is Begin.START,
        tx.now,
        outgoing.EVENTS,
    )


async def _handle(tx: Tx, name: str, handler: Handler, at_once: int) -> int | None:
    """How many events were handled; None if another process is handling them."""
    row = await tx.fetchrow(
        """
        SELECT c.seq, (SELECT max(seq) FROM feed_heads WHERE feed = $2) AS head
        FROM event_consumers c WHERE name = $1 FOR UPDATE OF c SKIP LOCKED
        """,
        name,
        outgoing.EVENTS,
    )
    if row is None:
        return None
    batch = await events.read(tx, after=row["seq"], limit=at_once)
    for event in batch:
        tx.correlation_id = event.correlation_id
        await _give(tx, handler, event)
    last = batch[-1].seq if batch else row["seq"]
    if batch:
        await tx.execute(
            "UPDATE event_consumers SET seq = $2, moved_at = $3 WHERE name = $1", name, last, tx.now
        )
    BEHIND.labels(name).set(max((row["head"] or 0) - last, 0))
    return len(batch)


async def _give(tx: Tx, handler: Handler, event: Event) -> None:
    try:
        await handler(tx, event)
    except RACED:
        raise  # tried again at once, by `Database.run`
    except Exception as fault:
        raise NotHandled(event) from fault


def _say(name: str, failure: Exception, pause_s: float) -> None:
    FAILURES.labels(name).inc()
    cause = failure.__cause__ or failure
    logger.error(
        "event not handled", consumer=name, failure=str(failure), retry_s=pause_s,
        error=f"{type(cause).__name__}: {cause}",
    )  # fmt: skip


async def _wait(wakeup: Wakeup, *, busy: bool) -> None:
    """For the next event; while another process is at it, not longer than it takes to notice
    that it died."""
    try:
        async with asyncio.timeout(BUSY_S if busy else None):
            await wakeup.wait()
    except TimeoutError:
        pass
