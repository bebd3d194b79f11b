"""Feeds in PostgreSQL: both ends of a link, and how to append to one.

An entry is appended in the transaction that decided it, streamed from the reader's
cursor, and deleted once acknowledged. A document (an entry with a key) stays until a
newer one of its key replaces it, so a reader that starts over gets every live one. The last
of a key, a tombstone, replaces it too and is deleted once acknowledged: then nothing is left.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Final

import asyncpg
from google.protobuf.message import DecodeError
from prometheus_client import Counter

from penstock.kernel import log
from penstock.kernel.db import Database, Tx
from penstock.kernel.errors import Problem
from penstock.kernel.outgoing import FeedEntry
from penstock.kernel.wakeups import Wakeup, Wakeups
from penstock_contracts import link
from penstock_contracts.identity import SignatureRejected
from penstock_contracts.wire_pb2 import Entry

logger = log.get(__name__)

APPLIED: Final = Counter("penstock_feed_entries_applied", "Entries applied", ["peer"])
REJECTED: Final = Counter("penstock_feed_entries_rejected", "Entries set aside", ["peer"])

Handler = Callable[[Tx, bytes], Awaitable[None]]


class Rejected(Exception):
    """The entry is understood and refused: it is set aside, and the feed goes on."""


# What an entry's own content can lead to. The same entry would fail the same way for ever,
# so it must not stop those after it.
REFUSALS: Final = (
    Rejected,
    Problem,
    DecodeError,
    SignatureRejected,
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
)


def append(tx: Tx, feed: str, body: bytes, *, key: str | None = None, last: bool = False) -> None:
    """Append with this transaction; with a key, as the newest document of that key, or the last."""
    tx.outgoing.entries.append(FeedEntry(feed, key, body, last))


async def hold(tx: Tx, source: str) -> int:
    """The cursor of a source, locked until the transaction ends: its entries wait meanwhile."""
    seq: int = await tx.fetchval(
        """
        INSERT INTO feed_cursors AS c (source, seq) VALUES ($1, 0)
        ON CONFLICT (source) DO UPDATE SET seq = c.seq RETURNING seq
        """,
        source,
    )
    return seq


async def forget_rejections(tx: Tx, before: datetime, limit: int) -> int:
    """Delete what was refused before then, so many at most; how many they were."""
    return await tx.execute(
        """
        DELETE FROM feed_rejections WHERE (source, seq) IN (
            SELECT source, seq FROM feed_rejections WHERE rejected_at < $1
            ORDER BY rejected_at LIMIT $2)
        """,
        before,
        limit,
    )


class Outbox:
    """A feed as its sender sees it. Use as a context manager: it is told of new entries."""

    def __init__(self, database: Database, wakeups: Wakeups, feed: str) -> None:
        self._database = database
        self._feed = feed
        self._subscription: AbstractContextManager[Wakeup] = wakeups.subscribe(feed)

    def __enter__(self) -> "Outbox":
        self._wakeup = self._subscription.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._subscription.__exit__(None, None, None)

    async def read(self, after: int, limit: int) -> Sequence[link.Outgoing]:
        rows = await self._database.fetch(
            """
            SELECT seq, body FROM feed_entries
            WHERE feed = $1 AND seq > $2 ORDER BY seq LIMIT $3
            """,
            self._feed,
            after,
            limit,
        )
        return [link.Outgoing(row["seq"], row["body"]) for row in rows]

    async def wait(self, after: int) -> None:
        await self._wakeup.wait()

    async def acknowledge(self, seq: int) -> None:
        await self._database.fetch(
            "DELETE FROM feed_entries WHERE feed = $1 AND seq <= $2 AND key IS NULL",
            self._feed,
            seq,
        )

    async def head(self) -> int:
        rows = await self._database.fetch("SELECT seq FROM feed_heads WHERE feed = $1", self._feed)
        return rows[0]["seq"] if rows else 0

    async def renumber(self, after: int) -> None:
        """Under the lock that numbers the feed, so that nobody appends meanwhile."""
        async with self._database.transaction() as tx:
            head: int = await tx.fetchval(
                """
                INSERT INTO feed_heads AS h (feed, seq) VALUES ($1, 0)
                ON CONFLICT (feed) DO UPDATE SET seq = h.seq RETURNING seq
                """,
                self._feed,
            )
            if head >= after:
                return
            renumbered = await tx.execute(
                """
                UPDATE feed_entries e SET seq = $2 + waits.place
                FROM (SELECT seq, row_number() OVER (ORDER BY seq) AS place
                    FROM feed_entries WHERE feed = $1) AS waits
                WHERE e.feed = $1 AND e.seq = waits.seq
                """,
                self._feed,
                after,
            )
            await tx.execute(
                "UPDATE feed_heads SET seq = $2 WHERE feed = $1", self._feed, after + renumbered
            )
        logger.warning(
            "the reader was ahead of its feed: this database lost the feed's end",
            feed=self._feed, head=head, reader=after, sent_again=renumbered,
        )  # fmt: skip


class Inbox:
    """Applies a source's entries, each once, in the transaction that moves the cursor."""

    def __init__(self, database: Database, source: str, handle: Handler) -> None:
        self._database = database
        self._source = source
        self._handle = handle

    async def cursor(self) -> int:
        rows = await self._database.fetch(
            "SELECT seq FROM feed_cursors WHERE source = $1", self._source
        )
        return rows[0]["seq"] if rows else 0

    async def apply(self, entries: Sequence[Entry]) -> int:
        async with self._database.transaction() as tx:
            cursor = await hold(tx, self._source)  # two connections of one source take turns
            fresh = link.accept(cursor, entries)
            for entry in fresh:
                await self._apply_one(tx, entry)
            if fresh:
                cursor = fresh[-1].seq
                APPLIED.labels(self._source.partition(":")[0]).inc(len(fresh))
                await tx.execute(
                    "UPDATE feed_cursors SET seq = $2 WHERE source = $1", self._source, cursor
                )
        return cursor

    async def _apply_one(self, tx: Tx, entry: Entry) -> None:
        try:
            async with tx.savepoint():
                await self._handle(tx, entry.body)
        except REFUSALS as refusal:
            REJECTED.labels(self._source.partition(":")[0]).inc()
            logger.warning("entry rejected", source=self._source, seq=entry.seq, why=str(refusal))
            await tx.execute(
                "INSERT INTO feed_rejections VALUES ($1, $2, $3, $4, $5)",
                self._source,
                entry.seq,
                str(refusal) or type(refusal).__name__,
                entry.body,
                tx.now,
            )
