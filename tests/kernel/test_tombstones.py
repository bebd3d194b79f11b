"""The last document of a key replaces it, is delivered, and leaves nothing behind."""

import pytest

from penstock.kernel import feed
from penstock.kernel.db import Database
from penstock.kernel.feed import Outbox
from penstock.kernel.wakeups import Wakeups

pytestmark = pytest.mark.anyio
FEED = "orders"


async def append(database: Database, body: bytes, *, last: bool = False, key: str = "k") -> None:
    async with database.transaction() as tx:
        feed.append(tx, FEED, body, key=key, last=last)


async def waiting(outbox: Outbox, after: int = 0) -> list[tuple[int, bytes]]:
    return [(entry.seq, entry.body) for entry in await outbox.read(after, 100)]


async def test_a_document_stays_and_a_tombstone_goes_once_acknowledged(
    upper: Database, wakeups: Wakeups
) -> None:
    with Outbox(upper, wakeups, FEED) as outbox:
        await append(upper, b"document")
        await outbox.acknowledge(1)
        assert await waiting(outbox) == [(1, b"document")], "whoever starts over gets it"
        await append(upper, b"tombstone", last=True)
        assert await waiting(outbox) == [(2, b"tombstone")], "in the place of the document"
        await outbox.acknowledge(1)
        assert await waiting(outbox) == [(2, b"tombstone")], "not delivered yet"
        await outbox.acknowledge(2)
        assert await waiting(outbox) == []
        assert await outbox.head() == 2


async def test_a_repeated_tombstone_is_delivered_and_goes_too(
    upper: Database, wakeups: Wakeups
) -> None:
    with Outbox(upper, wakeups, FEED) as outbox:
        await append(upper, b"first", last=True)
        await append(upper, b"second", last=True)
        assert await waiting(outbox) == [(1, b"first"), (2, b"second")]
        await outbox.acknowledge(2)
        await append(upper, b"third", last=True)
        await outbox.acknowledge(3)
        assert await waiting(outbox) == []


async def test_only_the_newest_of_a_transaction_counts(upper: Database, wakeups: Wakeups) -> None:
    with Outbox(upper, wakeups, FEED) as outbox:
        async with upper.transaction() as tx:
            feed.append(tx, FEED, b"document", key="k")
            feed.append(tx, FEED, b"other", key="other")
            feed.append(tx, FEED, b"tombstone", key="k", last=True)
        assert [body for _, body in await waiting(outbox)] == [b"other", b"tombstone"]
        await outbox.acknowledge(3)
        assert [body for _, body in await waiting(outbox)] == [b"other"]


async def test_a_tombstone_takes_no_other_document_along(upper: Database, wakeups: Wakeups) -> None:
    with Outbox(upper, wakeups, FEED) as outbox:
        await append(upper, b"mine")
        await append(upper, b"theirs", key="theirs")
        await append(upper, b"gone", last=True)
        await outbox.acknowledge(3)
        assert await waiting(outbox) == [(2, b"theirs")]
