"""What a transaction appends: audit entries, events, feed entries, one notification.

Collected while the work is done and written in one call at the very end, by
`append_outgoing` in the kernel's schema, which says why the order matters.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

import orjson

from penstock_contracts.ids import EventId, TenantId

if TYPE_CHECKING:
    import asyncpg
    from asyncpg.pool import PoolConnectionProxy

    Connection = PoolConnectionProxy[asyncpg.Record]

CHANNEL: Final = "penstock"
EVENTS: Final = "events"


@dataclass(frozen=True)
class AuditEntry:
    actor: str
    action: str
    subject: str
    tenant_id: TenantId | None
    detail: Mapping[str, object]
    reason: str
    correlation_id: str


@dataclass(frozen=True)
class Event:
    type: str
    subject: str
    tenant_id: TenantId | None
    data: Mapping[str, object]
    correlation_id: str
    id: str = field(default_factory=EventId.new)


@dataclass(frozen=True)
class FeedEntry:
    feed: str
    key: str | None
    body: bytes
    last: bool = False  # of its key: a tombstone


@dataclass
class Outgoing:
    audit: list[AuditEntry] = field(default_factory=list[AuditEntry])
    events: list[Event] = field(default_factory=list[Event])
    entries: list[FeedEntry] = field(default_factory=list[FeedEntry])
    told: set[str] = field(default_factory=set[str])  # names to wake, besides the feeds

    def mark(self) -> tuple[int, int, int]:
        return len(self.audit), len(self.events), len(self.entries)

    def rewind(self, mark: tuple[int, int, int]) -> None:
        """Forget what was added since `mark`: the savepoint it belonged to is gone."""
        del self.audit[mark[0] :], self.events[mark[1] :], self.entries[mark[2] :]


async def flush(connection: "Connection", outgoing: Outgoing, now: datetime) -> None:
    if outgoing.audit or outgoing.events or outgoing.entries or outgoing.told:
        await connection.execute(f"SELECT {append(1)}", *drain(outgoing), now)


def append(first: int) -> str:
    """The call that appends what `drain` gives and the time, parameters `first` and following."""
    audit, events, *rest = (f"${number}" for number in range(first, first + 8))
    return f"append_outgoing({audit}::text::jsonb, {events}::text::jsonb, {', '.join(rest)})"


def drain(outgoing: Outgoing) -> tuple[object, ...]:
    """What was collected, ready to be sent; nothing is left."""
    entries = _newest(outgoing.entries)
    drained = (
        orjson.dumps(outgoing.audit, default=str).decode(),
        orjson.dumps(outgoing.events, default=str).decode(),
        [entry.feed for entry in entries],
        [entry.key for entry in entries],
        [entry.body for entry in entries],
        [entry.last for entry in entries],
        sorted(outgoing.told),
    )
    outgoing.audit, outgoing.events, outgoing.entries = [], [], []
    outgoing.told = set()
    return drained


async def hold(connection: "Connection") -> None:
    """Whoever appends more than once in a transaction first takes, in their order, the locks
    that `append_outgoing` takes: then no two can wait for each other."""
    await connection.execute("SELECT hold_outgoing()")


def _newest(entries: list[FeedEntry]) -> list[FeedEntry]:
    """Of several documents with one key in one transaction, only the last counts."""
    last = {(e.feed, e.key): index for index, e in enumerate(entries) if e.key is not None}
    return [e for i, e in enumerate(entries) if e.key is None or last[e.feed, e.key] == i]
