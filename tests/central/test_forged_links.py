"""Whoever holds a site's key may send any frame to central: it moves nothing and learns nothing."""

import asyncio
from pathlib import Path

import grpc
import grpc.aio
import pytest

from penstock_contracts import rpc
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.membership import Member
from penstock_contracts.wire_pb2 import Ack, Entry, Frame, Hello

from . import stand_in_site
from .plane import Central
from .stand_in_site import Node

pytestmark = pytest.mark.anyio

HUGE = (1 << 64) - 1
HELLO = Frame(hello=Hello())
FORGED = {
    "a hello of 2^64-1": [Frame(hello=Hello(cursor=HUGE))],
    "an ack of 2^64-1": [HELLO, Frame(ack=Ack(seq=HUGE))],
    "an ack of what was never sent": [HELLO, Frame(ack=Ack(seq=1 << 40))],
    "an entry of 2^63-1": [HELLO, Frame(entry=Entry(seq=(1 << 63) - 1))],
    "an entry of 2^64-1": [HELLO, Frame(entry=Entry(seq=HUGE))],
}


async def ended(member: Member, frames: list[Frame]) -> grpc.aio.AioRpcError:
    """How central ends a link over which this is said."""
    held = member.membership
    channel = rpc.channel(
        held.link_address, held.server_name, held.root_pem.encode(), member.identity
    )
    async with asyncio.timeout(20), channel:
        stream = rpc.ClientStream(channel)
        for frame in frames:
            await stream.write(frame)
        with pytest.raises(grpc.aio.AioRpcError) as status:
            await _read_to_the_end(stream)
    return status.value


async def _read_to_the_end(stream: rpc.ClientStream) -> None:
    while await stream.read():
        pass


async def test_a_frame_that_could_not_be_moves_nothing_at_central(
    central: Central, tmp_path: Path
) -> None:
    member = await stand_in_site.joined(central, tmp_path / "site", "site-a")
    for what, frames in FORGED.items():
        status = await ended(member, frames)
        assert status.code() is grpc.StatusCode.FAILED_PRECONDITION, (what, status)
        said = (status.details() or "").lower()
        assert said, what
        assert not [word for word in ("asyncpg", "int64", "unexpected", "query") if word in said]
    assert await central.rows("SELECT * FROM feed_cursors WHERE seq > 0") == []
    site = stand_in_site.StandInSite(member.id, member)
    dialling = asyncio.create_task(member.dial(site, site))
    try:
        await site.report(wire.SiteReport(site=wire.SiteDescribed(join_address="127.0.0.1:1")))
        node = await site.add(Node("n"))
        shown = (await central.platform.get(f"/v1/nodes/{node.id}")).json
        assert shown["connected"], "and its honest site goes on"
    finally:
        dialling.cancel()
        await asyncio.gather(dialling, return_exceptions=True)
