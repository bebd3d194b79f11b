"""The link: two durable feeds over one stream, the same on both sides and on both links.

Each side says how far it has read, then sends what the other lacks and
acknowledges what it has durably applied. Whatever happens to the connection, the
next one starts from the receivers' own cursors, so nothing is lost; an entry at or
below the cursor is skipped, so nothing is doubled.

A peer may send any number; only numbers that could be are believed. A frame with another
one is a violation: nothing moves, the peer is told why, and the link ends. An entry in
sequence whose *body* is refused is no violation: its receiver sets it aside and goes on.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from penstock_contracts import VERSION
from penstock_contracts.wire_pb2 import Ack, Entry, Fault, Frame, Hello

BATCH: Final = 64  # entries read, or applied, at a time
WINDOW: Final = 1024  # entries received and not yet applied
ENTRY_BYTES_MAX: Final = 1 << 20
# Replaced documents, and a side restored from a backup, leave holes in the numbers; no hole is
# larger than this. Moving a cursor to SEQ_MAX by holes takes a thousand million entries.
STEP_MAX: Final = 1 << 32
SEQ_MAX: Final = 1 << 62  # no feed gets this far; the stores of both ends hold twice as much
FAULT_TEXT_MAX: Final = 300
FAULT_TOLD_S: Final = 2.0  # longer is not waited for a peer to hear the reason, and to leave


class LinkClosed(Exception):
    """The peer closed the stream."""


class ProtocolViolated(Exception):
    """The peer sent what the protocol does not allow; the link must be dialled again."""


class PeerObjected(Exception):
    """The peer says that this side sent what the protocol does not allow, and ends the link."""


@dataclass(frozen=True)
class Outgoing:
    seq: int
    body: bytes


class Outbox(Protocol):
    """The durable feed that this side sends."""

    async def read(self, after: int, limit: int) -> Sequence[Outgoing]:
        """Entries with a higher sequence, in order."""
        ...

    async def wait(self, after: int) -> None:
        """Return once there may be an entry after `after`; never miss one."""
        ...

    async def acknowledge(self, seq: int) -> None:
        """The peer has durably applied everything up to `seq`, which is at most the head."""
        ...

    async def head(self) -> int:
        """The highest sequence ever appended."""
        ...

    async def renumber(self, after: int) -> None:
        """Number what waits anew, from `after` on, unless the head is there already.

        The peer has read further than this side ever wrote, so this side was restored from
        a backup: the peer would skip whatever has a number that it has seen.
        """
        ...


class Inbox(Protocol):
    """Where this side applies what it receives."""

    async def cursor(self) -> int:
        """The highest sequence durably applied."""
        ...

    async def apply(self, entries: Sequence[Entry]) -> int:
        """Apply, in one transaction with the cursor, those that follow it; return the cursor.

        Use `accept` to decide which do.
        """
        ...


class Stream(Protocol):
    async def read(self) -> Frame | None:
        """The next frame, or None at the end."""
        ...

    async def write(self, frame: Frame) -> None: ...


def accept(cursor: int, entries: Sequence[Entry]) -> list[Entry]:
    """Those of `entries` that are new after `cursor`, in order; duplicates fall away.

    Raises ProtocolViolated at a gap, and at a number that could not be: the sender must start
    again from the cursor.
    """
    fresh: list[Entry] = []
    for entry in entries:
        if entry.previous >= entry.seq:
            raise ProtocolViolated(f"entry {entry.seq} says that it follows {entry.previous}")
        if entry.seq <= cursor:
            continue
        if entry.previous > cursor:
            raise ProtocolViolated(f"entry {entry.seq} follows {entry.previous}, not {cursor}")
        if entry.seq > min(cursor + STEP_MAX, SEQ_MAX):
            raise ProtocolViolated(f"entry {entry.seq} cannot follow {cursor}: it is too far ahead")
        fresh.append(entry)
        cursor = entry.seq
    return fresh


async def run(stream: Stream, outbox: Outbox, inbox: Inbox) -> None:
    """Serve one connection until it breaks. Always ends by raising."""
    writing = asyncio.Lock()
    try:
        sent = await _greet(stream, writing, outbox, inbox)
    except ProtocolViolated as violation:
        await _object(stream, writing, violation, None)
        raise
    received: asyncio.Queue[Entry] = asyncio.Queue(WINDOW)
    receiving = asyncio.create_task(_receive(stream, outbox, received))
    tasks = [
        receiving,
        asyncio.create_task(_send(stream, writing, outbox, sent)),
        asyncio.create_task(_apply(stream, writing, inbox, received)),
    ]
    # Not a TaskGroup: that forgets a cancellation if one of its tasks fails at the same moment.
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
    except ProtocolViolated as violation:
        await _object(stream, writing, violation, receiving)
        raise
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _object(
    stream: Stream,
    writing: asyncio.Lock,
    violation: ProtocolViolated,
    receiving: "asyncio.Task[None] | None",
) -> None:
    """Tell the peer why the link ends, and give it a moment to hear it: whoever dialled ends the
    call by leaving, and what is under way is lost then. To cancel a read would end it, too."""
    fault = Frame(fault=Fault(reason=str(violation)[:FAULT_TEXT_MAX]))
    with suppress(Exception):  # the peer may be gone; the violation is what counts
        async with asyncio.timeout(FAULT_TOLD_S):
            async with writing:
                await stream.write(fault)
            if receiving is not None and not receiving.done():
                await asyncio.wait({receiving})
            else:
                while await stream.read() is not None:
                    pass


async def _greet(stream: Stream, writing: asyncio.Lock, outbox: Outbox, inbox: Inbox) -> int:
    """Say how far this side has read, and hear how far the peer has."""
    async with writing:
        await stream.write(Frame(hello=Hello(cursor=await inbox.cursor(), version=VERSION)))
    first = await _read(stream)
    if first is None:
        raise LinkClosed("the peer closed the stream before its hello")
    if first.WhichOneof("frame") != "hello":
        raise ProtocolViolated("the first frame must be a hello")
    await _resume(outbox, first.hello.cursor)
    return first.hello.cursor


async def _read(stream: Stream) -> Frame | None:
    """The next frame; a peer's objection is raised, and so is a number that no feed has."""
    frame = await stream.read()
    if frame is None:
        return None
    if frame.HasField("fault"):
        raise PeerObjected(f"the peer ended the link: {_line(frame.fault.reason)}")
    entry = frame.entry
    if max(frame.hello.cursor, frame.ack.seq, entry.seq, entry.previous) > SEQ_MAX:
        raise ProtocolViolated("a sequence number is out of range")
    return frame


async def _resume(outbox: Outbox, cursor: int) -> None:
    """Have the feed go on after the peer's cursor, also if this side lost its end."""
    head = await outbox.head()
    if cursor > head + STEP_MAX:
        raise ProtocolViolated(
            f"the reader says that it has read up to {cursor}, but the feed ends at {head}"
        )
    if cursor > head:
        await outbox.renumber(cursor)


async def _send(stream: Stream, writing: asyncio.Lock, outbox: Outbox, sent: int) -> None:
    while True:
        entries = await outbox.read(sent, BATCH)
        for entry in entries:
            frame = Frame(entry=Entry(seq=entry.seq, previous=sent, body=entry.body))
            async with writing:
                await stream.write(frame)
            sent = entry.seq
        if len(entries) < BATCH:
            await outbox.wait(sent)


async def _receive(stream: Stream, outbox: Outbox, received: asyncio.Queue[Entry]) -> None:
    head = await outbox.head()  # it only grows, so it is asked again only when it seems passed
    while (frame := await _read(stream)) is not None:
        match frame.WhichOneof("frame"):
            case "ack":
                if frame.ack.seq > head and frame.ack.seq > (head := await outbox.head()):
                    raise ProtocolViolated(
                        f"entry {frame.ack.seq} is acknowledged, but the feed ends at {head}"
                    )
                await outbox.acknowledge(frame.ack.seq)
            case "entry":
                if len(frame.entry.body) > ENTRY_BYTES_MAX:
                    raise ProtocolViolated(f"entry {frame.entry.seq} is too large")
                await received.put(frame.entry)
            case _:
                raise ProtocolViolated("only entries and acks may follow the hello")
    raise LinkClosed("the peer closed the stream")


async def _apply(
    stream: Stream, writing: asyncio.Lock, inbox: Inbox, received: asyncio.Queue[Entry]
) -> None:
    while True:
        entries = [await received.get()]
        while len(entries) < BATCH and not received.empty():
            entries.append(received.get_nowait())
        cursor = await inbox.apply(entries)
        async with writing:
            await stream.write(Frame(ack=Ack(seq=cursor)))


def _line(said: str) -> str:
    """What a peer says, as part of a sentence of ours."""
    return "".join(letter if letter.isprintable() else " " for letter in said[:FAULT_TEXT_MAX])
