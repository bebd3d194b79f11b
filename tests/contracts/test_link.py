"""What a receiver accepts: everything once, in order, and never across a gap."""

import asyncio
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_contracts import link
from penstock_contracts.link import ProtocolViolated
from penstock_contracts.wire_pb2 import Entry, Frame, Hello

# A feed: increasing sequences, with holes where documents were replaced.
feeds = st.sets(st.integers(1, 60), min_size=1).map(sorted)


def sent(feed: list[int], cursor: int) -> list[Entry]:
    """What a sender sends to a receiver that has read up to `cursor`."""
    entries: list[Entry] = []
    previous = cursor
    for seq in feed:
        if seq > cursor:
            entries.append(Entry(seq=seq, previous=previous))
            previous = seq
    return entries


def sequences(entries: list[Entry]) -> list[int]:
    return [entry.seq for entry in entries]


@given(feeds, st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=12))
def test_connections_that_start_anywhere_lose_nothing_and_double_nothing(
    feed: list[int], connections: list[tuple[int, int]]
) -> None:
    """Each connection begins at or before the cursor and breaks after some entries."""
    cursor, applied = 0, list[int]()
    for start, length in [*connections, (61, 60)]:
        for entry in sent(feed, min(start, cursor))[:length]:
            for fresh in link.accept(cursor, [entry]):
                applied.append(fresh.seq)
                cursor = fresh.seq
    assert applied == feed


@given(feeds, st.data())
def test_a_batch_with_repeats_is_applied_once_and_in_order(
    feed: list[int], data: st.DataObject
) -> None:
    entries = sent(feed, 0)
    repeated = [copy for entry in entries for copy in [entry] * data.draw(st.integers(1, 3))]
    assert sequences(link.accept(0, repeated)) == feed


@given(feeds, st.data())
def test_a_lost_entry_is_a_violation_and_the_rest_is_not_applied(
    feed: list[int], data: st.DataObject
) -> None:
    entries = sent(feed, 0)
    lost = data.draw(st.integers(0, len(entries) - 1))
    received = entries[:lost] + entries[lost + 1 :]
    if lost == len(entries) - 1:
        assert sequences(link.accept(0, received)) == feed[:-1]
        return
    with pytest.raises(ProtocolViolated, match=f"not {feed[lost - 1] if lost else 0}$"):
        link.accept(0, received)


@given(feeds, st.randoms(use_true_random=False), st.integers(0, 60))
def test_no_order_of_arrival_makes_it_skip(feed: list[int], random: Random, cursor: int) -> None:
    """Shuffled: what is accepted is a prefix of what was due, or it is a violation."""
    due = [seq for seq in feed if seq > cursor]
    shuffled = sent(feed, cursor)
    random.shuffle(shuffled)
    try:
        accepted = sequences(link.accept(cursor, shuffled))
    except ProtocolViolated:
        assert sequences(shuffled) != due
        return
    assert accepted == due[: len(accepted)]
    assert sequences(shuffled) == due or len(due) <= 1


class Brittle:
    """A stream, an outbox and an inbox at once: whoever is cancelled here fails instead."""

    def __init__(self) -> None:
        self.greeted = False

    async def read(self, after: int = 0, limit: int = 0) -> Frame:
        if self.greeted:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise ConnectionError("the connection broke at the same moment") from None
        self.greeted = True
        return Frame(hello=Hello())

    async def write(self, frame: Frame) -> None: ...


class Idle:
    """A feed on which nothing happens."""

    async def read(self, after: int, limit: int) -> list[link.Outgoing]:
        return []

    async def wait(self, after: int) -> None:
        await asyncio.Event().wait()

    async def acknowledge(self, seq: int) -> None: ...

    async def head(self) -> int:
        return 0

    async def renumber(self, after: int) -> None:
        raise AssertionError("nothing was lost")

    async def cursor(self) -> int:
        return 0

    async def apply(self, entries: Sequence[Entry]) -> int:
        return 0


@pytest.mark.anyio
async def test_a_link_that_breaks_while_it_is_cancelled_is_cancelled() -> None:
    """Else its owner would go on dialling, which it was told not to."""
    running = asyncio.create_task(link.run(Brittle(), Idle(), Idle()))
    for _ in range(10):  # until its sender, receiver and applier wait
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait({running})
    assert running.cancelled()


HUGE = [link.SEQ_MAX, (1 << 63) - 1, (1 << 64) - 1]


@given(st.integers(0, link.SEQ_MAX), st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1))
def test_no_entry_moves_the_cursor_further_than_could_be(
    cursor: int, seq: int, previous: int
) -> None:
    try:
        fresh = link.accept(cursor, [Entry(seq=seq, previous=previous)])
    except ProtocolViolated:
        return
    assert sequences(fresh) in ([], [seq])
    assert previous < seq
    assert not fresh or previous <= cursor < seq <= min(cursor + link.STEP_MAX, link.SEQ_MAX)


@pytest.mark.parametrize("seq", HUGE)
def test_a_forged_sequence_is_a_violation_and_none_before_it_is_lost(seq: int) -> None:
    with pytest.raises(ProtocolViolated, match="too far ahead"):
        link.accept(0, [Entry(seq=1), Entry(seq=seq, previous=0)])
    with pytest.raises(ProtocolViolated, match="says that it follows"):
        link.accept(0, [Entry(seq=seq, previous=seq)])
