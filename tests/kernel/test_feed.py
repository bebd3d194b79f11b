"""Feeds between two databases: nothing lost, nothing doubled, whatever happens to the link."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from penstock.kernel import feed, outgoing
from penstock.kernel.db import Database, Tx
from penstock.kernel.feed import Outbox
from penstock.kernel.outgoing import Outgoing
from penstock.kernel.wakeups import Wakeups
from penstock_contracts import link
from penstock_contracts.wire_pb2 import Entry

from . import diary
from .streams import Fault, Silent, Unruly, pair, whole

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def linked(
    upper: Database, wakeups: Wakeups, lower: Database, fault: Fault = whole
) -> AsyncGenerator["asyncio.Task[None]", None]:
    """A connection over which the diary's feed flows; the task ends when it breaks."""
    above, below = pair(fault)
    silent = Silent()
    with Outbox(upper, wakeups, diary.FEED) as outbox:
        sides = [
            asyncio.create_task(link.run(above, outbox, silent)),
            asyncio.create_task(link.run(below, silent, diary.inbox(lower))),
        ]
        broken = asyncio.create_task(_first(sides))
        try:
            async with asyncio.timeout(30):
                yield broken
        finally:
            for task in (*sides, broken):
                task.cancel()
            await asyncio.gather(*sides, broken, return_exceptions=True)


async def _first(sides: list["asyncio.Task[None]"]) -> None:
    done, _ = await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        await task


async def turns(count: int) -> None:
    """Let the loop go round: a way to stop anywhere that does not depend on time."""
    for _ in range(count):
        await asyncio.sleep(0)


async def drained(upper: Database, broken: "asyncio.Task[None]") -> bool:
    """True once everything is acknowledged; False if the connection broke before."""
    while await diary.waiting(upper):
        if broken.done():
            return False
    return True


@pytest.mark.parametrize("seed", range(4))
async def test_kills_at_any_moment_lose_nothing_and_double_nothing(
    upper: Database, wakeups: Wakeups, lower: Database, site_url: str, seed: int
) -> None:
    await diary.prepare(site_url)
    rng = random.Random(seed)
    expected = [f"{number}" for number in range(400)]

    async def fill() -> None:
        left = list(expected)
        while left:
            size = rng.randint(1, 9)
            await diary.append(upper, *left[:size])
            del left[:size]

    filling = asyncio.create_task(fill())
    for _ in range(25):
        async with linked(upper, wakeups, lower):
            await turns(rng.randrange(600))
    await filling
    async with linked(upper, wakeups, lower) as broken:
        assert await drained(upper, broken)
    assert await diary.read(lower) == expected


@pytest.mark.parametrize("seed", range(3))
async def test_duplicates_delays_and_reordering_are_noticed_and_healed(
    upper: Database, wakeups: Wakeups, lower: Database, site_url: str, seed: int
) -> None:
    await diary.prepare(site_url)
    expected = [f"{number}" for number in range(300)]
    await diary.append(upper, *expected)
    unruly = Unruly(random.Random(seed), rate=0.02)
    violations = 0
    done = False
    while not done:
        async with linked(upper, wakeups, lower, unruly) as broken:
            # The end may hold the very last entry back; a new connection then sends it.
            waiting = asyncio.create_task(drained(upper, broken))
            await asyncio.wait({waiting, broken}, return_when="FIRST_COMPLETED", timeout=2)
            done = waiting.done() and waiting.result()
            waiting.cancel()
            if broken.done():
                with pytest.raises((link.ProtocolViolated, link.PeerObjected)):
                    broken.result()
                violations += 1
    assert await diary.read(lower) == expected
    assert unruly.caused > 0
    assert violations > 0


async def test_a_slower_transaction_is_never_skipped(
    upper: Database, wakeups: Wakeups, lower: Database, site_url: str
) -> None:
    """The sequence trap: the first to be numbered commits last, and is still read first."""
    await diary.prepare(site_url)
    numbered, commit = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        async with upper.transaction() as tx:
            feed.append(tx, diary.FEED, b"slow")
            await outgoing.flush(tx.connection, tx.outgoing, tx.now)
            tx.outgoing = Outgoing()
            numbered.set()
            await commit.wait()

    async with linked(upper, wakeups, lower) as broken:
        slower = asyncio.create_task(slow())
        await asyncio.wait(
            {slower, asyncio.create_task(numbered.wait())}, return_when="FIRST_COMPLETED"
        )
        assert not slower.done(), slower
        faster = asyncio.create_task(diary.append(upper, "fast"))
        done, _ = await asyncio.wait({faster}, timeout=0.3)
        assert not done, "the second appender waits for the first, so no reader can skip it"
        assert await diary.read(lower) == []
        commit.set()
        await asyncio.gather(slower, faster)
        assert await drained(upper, broken)
    assert await diary.read(lower) == ["slow", "fast"]


async def test_many_appenders_at_once_are_each_read_once_and_in_their_own_order(
    upper: Database, wakeups: Wakeups, lower: Database, site_url: str
) -> None:
    await diary.prepare(site_url)

    async def appender(name: int) -> None:
        rng = random.Random(name)
        for number in range(20):
            async with upper.transaction() as tx:
                feed.append(tx, diary.FEED, f"{name}:{number}".encode())
                await turns(rng.randrange(30))

    async with linked(upper, wakeups, lower) as broken:
        await asyncio.gather(*(appender(name) for name in range(8)))
        assert await drained(upper, broken)
    bodies = await diary.read(lower)
    assert len(bodies) == len(set(bodies)) == 160
    for name in range(8):
        mine = [body for body in bodies if body.startswith(f"{name}:")]
        assert mine == [f"{name}:{number}" for number in range(20)]


async def test_of_a_document_only_the_newest_revision_is_kept(
    upper: Database, wakeups: Wakeups, lower: Database, site_url: str
) -> None:
    await diary.prepare(site_url)
    for revision in range(5):
        await diary.append(upper, f"a{revision}", key="a")
        await diary.append(upper, f"b{revision}", key="b")
    await diary.append(upper, "a5", "a6", key="a")
    await diary.append(upper, "plain")
    async with linked(upper, wakeups, lower):
        while len(await diary.read(lower)) < 3:
            await turns(10)
    assert await diary.read(lower) == ["b4", "a6", "plain"]


async def test_a_reader_that_starts_over_gets_every_live_document(
    upper: Database, wakeups: Wakeups, lower: Database, site_url: str
) -> None:
    await diary.prepare(site_url)
    keys = [f"k{number}" for number in range(100)]
    for key in keys:
        await diary.append(upper, f"{key}=1", key=key)
    for key in keys[:50]:
        await diary.append(upper, f"{key}=2", key=key)
    everything = [f"{key}=1" for key in keys[50:]] + [f"{key}=2" for key in keys[:50]]
    for _ in range(2):
        async with lower.transaction() as tx:
            await tx.execute("UPDATE feed_cursors SET seq = 0")
        before = len(await diary.read(lower))
        async with linked(upper, wakeups, lower):
            while len(await diary.read(lower)) < before + 100:
                await turns(10)
        assert (await diary.read(lower))[before:] == everything


async def test_a_refused_entry_is_set_aside_with_its_reason_and_the_feed_goes_on(
    upper: Database, wakeups: Wakeups, lower: Database, site_url: str
) -> None:
    await diary.prepare(site_url)
    await diary.append(upper, "one", "bad two", "three")
    async with linked(upper, wakeups, lower) as broken:
        assert await drained(upper, broken)
    assert await diary.read(lower) == ["one", "three"]
    async with lower.transaction() as tx:
        (row,) = await tx.fetch("SELECT * FROM feed_rejections")
    assert (row["seq"], row["reason"], bytes(row["body"])) == (2, "it is bad", b"bad two")


async def test_a_handler_that_breaks_applies_nothing_of_its_batch(
    lower: Database, site_url: str
) -> None:
    await diary.prepare(site_url)
    inbox = feed.Inbox(lower, "s", _breaks_at_three)
    entries = [Entry(seq=n, previous=n - 1, body=str(n).encode()) for n in (1, 2, 3)]
    with pytest.raises(ZeroDivisionError):
        await inbox.apply(entries)
    assert await diary.read(lower) == []
    assert await inbox.cursor() == 0
    assert await inbox.apply(entries[:2]) == 2


async def _breaks_at_three(tx: Tx, body: bytes) -> None:
    if body == b"3":
        raise ZeroDivisionError
    await diary.write(tx, body)


async def test_two_connections_of_one_source_take_turns(lower: Database, site_url: str) -> None:
    await diary.prepare(site_url)
    entries = [Entry(seq=n, previous=n - 1, body=str(n).encode()) for n in range(1, 41)]
    inbox = diary.inbox(lower)
    cursors = await asyncio.gather(*(inbox.apply(entries) for _ in range(8)))
    assert cursors == [40] * 8
    assert await diary.read(lower) == [str(n) for n in range(1, 41)]
