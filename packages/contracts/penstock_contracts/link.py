"""The link: two durable feeds over one stream, the same on both sides and on both links.

Each side says how far it has read, then sends what the other lacks and
acknowledges what it has durably applied. Whatever happens to the connection, the
next one starts from the receivers' own cursors, so nothing is lost; an entry at or
below the cursor is skipped, so nothing is doubled.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from penstock_contracts import VERSION
from penstock_contracts.wire_pb2 import Ack, Entry, Frame, Hello

BATCH: Final = 64  # entries read, or applied, at a time
WINDOW: Final = 1024  # entries received and not yet applied
ENTRY_BYTES_MAX: Final = 1 << 20


class LinkClosed(Exception):
    """The peer closed the stream."""


class ProtocolViolated(Exception):
    """The peer sent what the protocol does not allow; the link must be dialled again."""


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
        """The peer has durably applied everything up to `seq`."""
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

    Raises ProtocolViolated at a gap: the sender must start again from the cursor.
    """
    fresh: list[Entry] = []
    for entry in entries:
        if entry.seq <= cursor:
            continue
        if entry.previous > cursor:
            raise ProtocolViolated(f"entry {entry.seq} follows {entry.previous}, not {cursor}")
        fresh.append(entry)
        cursor = entry.seq
    return fresh


async def run(stream: Stream, outbox: Outbox, inbox: Inbox) -> None:
    """Serve one connection until it breaks. Always ends by raising."""
    await stream.write(Frame(hello=Hello(cursor=await inbox.cursor(), version=VERSION)))
    first = await stream.read()
    if first is None:
        raise LinkClosed("the peer closed the stream before its hello")
    if first.WhichOneof("frame") != "hello":
        raise ProtocolViolated("the first frame must be a hello")
    received: asyncio.Queue[Entry] = asyncio.Queue(WINDOW)
    writing = asyncio.Lock()
    tasks = [
        asyncio.create_task(_send(stream, writing, outbox, first.hello.cursor)),
        asyncio.create_task(_receive(stream, outbox, received)),
        asyncio.create_task(_apply(stream, writing, inbox, received)),
    ]
    # Not a TaskGroup: that forgets a cancellation if one of its tasks fails at the same moment.
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


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
    while (frame := await stream.read()) is not None:
        match frame.WhichOneof("frame"):
            case "ack":
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
