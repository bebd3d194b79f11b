"""Whatever a peer sends over a real link, at either end: nothing moves, and it is told why."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager

import grpc
import grpc.aio
import pytest

from penstock.kernel.db import Database
from penstock.kernel.feed import Outbox
from penstock.kernel.wakeups import Wakeups
from penstock_contracts import link, rpc
from penstock_contracts.wire_pb2 import Ack, Entry, Frame, Hello

from . import diary

pytestmark = pytest.mark.anyio

HUGE = (1 << 64) - 1
HELLO = Frame(hello=Hello())
FORGED = {
    "a hello of 2^64-1": [Frame(hello=Hello(cursor=HUGE))],
    "a hello of what was never sent": [Frame(hello=Hello(cursor=link.STEP_MAX + 9))],
    "an ack of 2^64-1": [HELLO, Frame(ack=Ack(seq=HUGE))],
    "an ack of what was never sent": [HELLO, Frame(ack=Ack(seq=4))],
    "an entry of 2^64-1": [HELLO, Frame(entry=Entry(seq=HUGE))],
    "an entry of 2^63-1": [HELLO, Frame(entry=Entry(seq=(1 << 63) - 1))],
    "an entry after 2^64-1": [HELLO, Frame(entry=Entry(seq=1, previous=HUGE))],
}
Peer = Callable[[link.Stream], Coroutine[None, None, None]]


@asynccontextmanager
async def dialled(server: Peer) -> AsyncGenerator[rpc.ClientStream, None]:
    """The dialling end of a real link, whose other end does this."""

    async def connect(stream: rpc.ServerStream, _context: rpc.ServerContext) -> None:
        await server(stream)

    serving = grpc.aio.server(options=rpc.OPTIONS)
    serving.add_generic_rpc_handlers([rpc.link_service(connect)])
    port = serving.add_insecure_port("127.0.0.1:0")
    await serving.start()
    try:
        async with asyncio.timeout(20), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield rpc.ClientStream(channel)
    finally:
        await serving.stop(None)


def forger(frames: list[Frame], heard: "asyncio.Future[str]") -> Peer:
    """Says this, and hears how it is answered."""

    async def say(stream: link.Stream) -> None:
        for frame in frames:
            await stream.write(frame)
        while (frame := await stream.read()) is not None:
            if frame.HasField("fault") and not heard.done():
                heard.set_result(frame.fault.reason)

    return say


@pytest.mark.parametrize("end", ["dials", "listens"])
@pytest.mark.parametrize("what", FORGED)
async def test_a_frame_that_could_not_be_moves_nothing(
    upper: Database, wakeups: Wakeups, lower: Database, site_url: str, what: str, end: str
) -> None:
    """The feeds are real, the link is real; the forger is at one end of it, then at the other."""
    await diary.prepare(site_url)
    await diary.append(upper, "one", "two", "three")
    heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    attacked: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
    inbox = diary.inbox(lower)

    async def honest(stream: link.Stream) -> None:
        with Outbox(upper, wakeups, diary.FEED) as outbox:
            try:
                await link.run(stream, outbox, inbox)
            except Exception as error:
                attacked.set_result(error)

    forging = forger(FORGED[what], heard)
    client, server = (honest, forging) if end == "dials" else (forging, honest)
    async with dialled(server) as stream:
        speaking = asyncio.create_task(client(stream))
        assert isinstance(await attacked, link.ProtocolViolated), attacked.result()
        assert await heard == str(attacked.result())
        speaking.cancel()
        await asyncio.gather(speaking, return_exceptions=True)
    assert await inbox.cursor() == 0
    assert await diary.waiting(upper) == 3
    assert await diary.read(lower) == []


async def test_a_reader_that_is_ahead_of_a_restored_feed_gets_all_that_waits(
    upper: Database, wakeups: Wakeups, lower: Database, site_url: str
) -> None:
    """The sender lost its end: without care, the reader would take the new for the old."""
    await diary.prepare(site_url)
    inbox = diary.inbox(lower)
    await inbox.apply([Entry(seq=n, previous=n - 1, body=b"%d" % n) for n in range(1, 41)])
    await diary.append(upper, "document", key="k")
    await diary.append(upper, "new")

    async def server(stream: link.Stream) -> None:
        with Outbox(upper, wakeups, diary.FEED) as outbox:
            await link.run(stream, outbox, _Nothing())

    async with dialled(server) as stream:
        reading = asyncio.create_task(link.run(stream, _Nothing(), inbox))
        while await inbox.cursor() < 42:
            assert not reading.done(), reading
        await diary.append(upper, "newer")
        while await inbox.cursor() < 43:
            assert not reading.done(), reading
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    assert (await diary.read(lower))[40:] == ["document", "new", "newer"]


class _Nothing:
    """The side of a link that sends and receives nothing."""

    async def read(self, after: int, limit: int) -> list[link.Outgoing]:
        return []

    async def wait(self, after: int) -> None:
        await asyncio.Event().wait()

    async def acknowledge(self, seq: int) -> None: ...

    async def head(self) -> int:
        return 0

    async def renumber(self, after: int) -> None: ...

    async def cursor(self) -> int:
        return 0

    async def apply(self, entries: object) -> int:
        return 0
