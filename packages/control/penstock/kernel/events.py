"""The one ordered event log, and how to follow it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from penstock.kernel import logs, outgoing
from penstock.kernel.db import Database, Tx
from penstock.kernel.errors import Gone
from penstock.kernel.stopping import Stopping
from penstock.kernel.wakeups import Wakeups
from penstock_contracts.ids import TenantId

PAGE: Final = 200


@dataclass(frozen=True)
class Event:
    seq: int
    id: str
    type: str
    subject: str
    tenant_id: TenantId | None
    data: dict[str, object]
    correlation_id: str
    at: datetime
    source: str  # the plane that it happened at

    def envelope(self) -> dict[str, object]:
        """CloudEvents 1.0, the same through every door."""
        return {
            "specversion": "1.0",
            "id": self.id,
            "source": self.source,
            "type": self.type,
            "subject": self.subject,
            "time": self.at.isoformat(),
            "datacontenttype": "application/json",
            "sequence": self.seq,
            "tenantid": self.tenant_id,
            "correlationid": self.correlation_id,
            "data": self.data,
        }


def emit(
    tx: Tx, type: str, subject: str, *, tenant_id: TenantId | None = None, **data: object
) -> None:
    """Append a fact (`noun.participle`) to the log with this transaction.

    The plane's catalogue must have it, with just these fields.
    """
    tx.catalogue.check(type, tenant_id, data)
    event = outgoing.Event(type, subject, tenant_id, data, tx.correlation_id)
    tx.outgoing.events.append(event)


async def read(
    tx: Tx, *, after: int = 0, subject: str | None = None, limit: int = PAGE
) -> list[Event]:
    """What this transaction's tenant may see, in order."""
    rows = await tx.fetch(
        """
        SELECT seq, id, type, subject, tenant_id, data, correlation_id, at FROM events
        WHERE seq > $1 AND ($2::text IS NULL OR subject = $2) ORDER BY seq LIMIT $3
        """,
        after,
        subject,
        limit,
    )
    return [Event(**dict(row), source=tx.catalogue.source) for row in rows]


async def about(tx: Tx, subjects: Sequence[str], limit: int) -> list[Event]:
    """What happened to any of these, in order."""
    rows = await tx.fetch(
        """
        SELECT seq, id, type, subject, tenant_id, data, correlation_id, at FROM events
        WHERE subject = ANY($1) ORDER BY seq LIMIT $2
        """,
        subjects,
        limit,
    )
    return [Event(**dict(row), source=tx.catalogue.source) for row in rows]


async def latest(tx: Tx, subject: str, limit: int) -> list[Event]:
    """The last that happened to the subject, in order."""
    rows = await tx.fetch(
        """
        SELECT seq, id, type, subject, tenant_id, data, correlation_id, at FROM events
        WHERE subject = $1 ORDER BY seq DESC LIMIT $2
        """,
        subject,
        limit,
    )
    return [Event(**dict(row), source=tx.catalogue.source) for row in reversed(rows)]


async def head(tx: Tx) -> int:
    """The last event that this transaction's tenant may see, or, if all were trimmed, the last of
    those: nothing that it may see is between that and now."""
    seq: int = await tx.fetchval(
        """
        SELECT coalesce((SELECT max(seq) FROM events), (
            SELECT seq FROM log_starts WHERE log = $1))
        """,
        outgoing.EVENTS,
    )
    return seq


async def refuse_trimmed(tx: Tx, after: int) -> None:
    """Refuses who goes on after an event if the log does not have all that came next. 0 is no
    event: who goes on after it wants what the log has."""
    begins = (await logs.start(tx, outgoing.EVENTS)).seq
    if 0 < after < begins:
        raise Gone(
            f"the events after {after} are not in the log any more; it begins after {begins}",
            code="events_trimmed",
            suggestion="read what you follow anew, then follow events without Last-Event-ID",
        )


async def unhandled(tx: Tx) -> tuple[int, str]:
    """How far every consumer of this plane is, and which is behind; no consumer, no bound."""
    row = await tx.fetchrow("SELECT name, seq FROM event_consumers ORDER BY seq LIMIT 1")
    return (row["seq"], row["name"]) if row else (logs.SEQ_MAX, "")


async def rows(tx: Tx, after: int, before: datetime, limit: int) -> list[logs.Row]:
    """The log's beginning, up to the first that happened later than that: each as text to be
    exported."""
    found = await tx.fetch(
        """
        WITH page AS MATERIALIZED (SELECT * FROM events WHERE seq > $1 ORDER BY seq LIMIT $3),
            young AS (SELECT min(seq) AS seq FROM page WHERE at >= $2)
        SELECT e.seq, e.at, jsonb_build_array(e.seq, e.id, e.tenant_id, e.type, e.subject, e.data,
            e.correlation_id, (extract(epoch FROM e.at) * 1000000)::bigint)::text AS entry
        FROM page e, young WHERE young.seq IS NULL OR e.seq < young.seq ORDER BY e.seq
        """,
        after,
        before,
        limit,
    )
    return [logs.Row(row["seq"], row["at"], row["entry"]) for row in found]


async def trim(tx: Tx, until: int) -> int:
    """Delete what is before the log's start; how many they were."""
    return await tx.execute("DELETE FROM events WHERE seq <= $1", until)


async def follow(
    database: Database,
    wakeups: Wakeups,
    *,
    tenant: TenantId | None,
    after: int,
    subject: str | None = None,
    heartbeat_s: float = 15.0,
    stopping: Stopping,
) -> AsyncIterator[Sequence[Event]]:
    """Batches as they happen, for ever; an empty one when nothing happened for a while. When this
    process ends it raises so; who wakes the readers then is `end`."""
    with wakeups.subscribe(outgoing.EVENTS) as wakeup:
        while True:
            stopping.refuse()
            # A reader may leave at any moment. What it asked of the database is brought to its end
            # nevertheless: a connection that was left in the middle is good for nobody.
            batch = await asyncio.shield(_next(database, tenant, after, subject))
            if batch:
                after = batch[-1].seq
                yield batch
            if len(batch) == PAGE:
                continue
            try:
                async with asyncio.timeout(heartbeat_s):
                    await wakeup.wait()
            except TimeoutError:
                yield []


async def end(wakeups: Wakeups) -> None:
    """Have all readers in this process look whether it ends."""
    wakeups.tell(outgoing.EVENTS)


async def _next(
    database: Database, tenant: TenantId | None, after: int, subject: str | None
) -> list[Event]:
    async with database.transaction(tenant=tenant) as tx:
        return await read(tx, after=after, subject=subject)
