"""Whoever holds a node's key may send any frame: it moves nothing, and harms no lease."""

import asyncio
from collections.abc import Iterator

import grpc
import grpc.aio
import pytest

from penstock_client.errors import Refused
from penstock_contracts import membership, rpc
from penstock_contracts.wire_pb2 import Ack, Entry, Frame, Hello

from . import checks, watching
from .platform import Platform

HOLD_S = "0.2"
HUGE = (1 << 64) - 1
BIGINT = (1 << 63) - 1
HELLO = Frame(hello=Hello())
FORGED = {
    "a hello of what was never sent": ([Frame(hello=Hello(cursor=1 << 50))], "has read up to"),
    "a hello of 2^64-1": ([Frame(hello=Hello(cursor=HUGE))], "out of range"),
    "an ack of what was never sent": ([HELLO, Frame(ack=Ack(seq=1 << 50))], "is acknowledged"),
    "an ack of 2^64-1": ([HELLO, Frame(ack=Ack(seq=HUGE))], "out of range"),
    "an entry of 2^63-1": ([HELLO, Frame(entry=Entry(seq=BIGINT))], "out of range"),
    "an entry of 2^62": ([HELLO, Frame(entry=Entry(seq=1 << 62))], "too far ahead"),
    "an entry of 2^64-1": ([HELLO, Frame(entry=Entry(seq=HUGE))], "out of range"),
    "an entry that follows itself": (
        [HELLO, Frame(entry=Entry(seq=9, previous=9))],
        "says that it follows",
    ),
}
ON_THE_WAY = "SELECT seq, body FROM feed_entries WHERE starts_with(feed, 'node:')"


@pytest.fixture(scope="module")
def unruly() -> Iterator[Platform]:
    """A platform where a link that does not hold must hold first."""
    platform = Platform({"PENSTOCK_SITE_LINK_HOLD_S": HOLD_S})
    try:
        platform.start()
        yield platform
    finally:
        platform.stop()


async def sent(platform: Platform, *frames: Frame) -> grpc.aio.AioRpcError | None:
    """Dial as the node, with its own key, and say this; how the site ended it, if it did."""
    member = membership.load(platform.data / "agent" / "nodes" / "node-0001")
    assert member is not None
    held = member.membership
    channel = rpc.channel(
        held.link_address, held.server_name, held.root_pem.encode(), member.identity
    )
    async with asyncio.timeout(20), channel:
        stream = rpc.ClientStream(channel)
        try:
            for frame in frames:
                await stream.write(frame)
            assert await stream.read(), "the site says hello"
            if frames == (HELLO,):
                return None  # and hang up
            while await stream.read():
                pass
        except grpc.aio.AioRpcError as ended:
            return ended
        except ConnectionError:
            with pytest.raises(grpc.aio.AioRpcError) as status:
                await stream.read()
            return status.value
    raise AssertionError("the link ended without a status")


def cursor(platform: Platform) -> list[watching.Row]:
    return watching.rows(
        platform.site_url, "SELECT source, seq FROM feed_cursors WHERE starts_with(source, 'node:')"
    )


def forgive(platform: Platform) -> None:
    """As if ten quiet minutes had passed."""
    long_ago = "UPDATE nodes SET flapped_at = flapped_at - interval '1 hour' RETURNING id"
    assert watching.rows(platform.site_url, long_ago)


def test_a_frame_that_could_not_be_moves_nothing_and_the_node_goes_on(unruly: Platform) -> None:
    unruly.agent.kill()
    asyncio.run(sent(unruly, HELLO))  # it is asked what it is made of, and does not hear it
    before, waiting = cursor(unruly), watching.rows(unruly.site_url, ON_THE_WAY)
    assert waiting
    for what, (frames, said) in FORGED.items():
        ended = asyncio.run(sent(unruly, *frames))
        assert ended is not None, what
        assert ended.code() is grpc.StatusCode.FAILED_PRECONDITION, (what, ended)
        assert said in (ended.details() or ""), what
        assert cursor(unruly) == before, what
        assert set(waiting) <= set(watching.rows(unruly.site_url, ON_THE_WAY)), what
    (reason,) = unruly.until_central("SELECT away_reason FROM nodes WHERE NOT connected")
    assert str(reason).startswith("its link does not hold: "), reason
    (shown,) = unruly.client.nodes.list()["items"]
    assert (shown["posture"], shown["posture_reason"]) == ("unavailable", reason)

    unruly.agent.start()
    unruly.until_site("SELECT 1 FROM nodes WHERE connected AND NOT present")
    with pytest.raises(Refused) as refused:
        unruly.lease()
    assert "its agent's link does not hold" in str(refused.value.problem)
    unruly.until_central("SELECT 1 FROM nodes WHERE connected AND away_reason = ''")
    unruly.settle()
    id = unruly.lease()
    unruly.until_active(id)
    unruly.release(id)
    unruly.until_freed(id)
    checks.assert_released(unruly, id)


def test_a_link_that_comes_and_goes_is_told_of_a_few_times_and_takes_nothing(
    unruly: Platform,
) -> None:
    forgive(unruly)
    unruly.agent.kill()
    unruly.until_central("SELECT 1 FROM nodes WHERE NOT connected")
    ((seen,),) = watching.rows(unruly.central_url, "SELECT max(seq) FROM events")
    for _ in range(12):
        assert asyncio.run(sent(unruly, HELLO)) is None
        unruly.until_site("SELECT 1 FROM nodes WHERE NOT connected")
    ended = "it ended % times within minutes"
    unruly.until_central("SELECT 1 FROM nodes WHERE away_reason LIKE %s", f"%{ended}")
    told = "SELECT count(*) FROM events WHERE seq > %s AND type LIKE 'node.%%connected'"
    ((changes,),) = watching.rows(unruly.central_url, told, seen)
    assert isinstance(changes, int)
    assert 1 <= changes <= 7, "three free ends, and the one that was too many"
    forgive(unruly)
    unruly.agent.start()
    unruly.settle()


def test_a_release_that_cannot_end_is_abandoned_and_ends_when_the_node_is_back(
    unruly: Platform,
) -> None:
    forgive(unruly)
    id = unruly.lease()
    unruly.until_active(id)
    unruly.agent.kill()
    unruly.until_central("SELECT 1 FROM nodes WHERE NOT connected")
    unruly.release(id)
    unruly.until_central(
        "SELECT 1 FROM allocations WHERE id = %s AND execution_workflow = 'release'"
        " AND execution_step = 'clean'",
        id,
    )
    given_up = unruly.client.allocations.abandon(id, reason="its disk is dead")
    assert given_up["status"] == "abandoned"
    states = [unruly.client.slots.get(slot)["state"] for slot in given_up["slots"]]
    assert states == ["cleanup_blocked"] * 2
    ((held,),) = watching.rows(unruly.central_url, "SELECT sum(gpus) FROM gpus_held")
    assert held == 0
    checks.assert_nothing_is_violated(unruly)

    unruly.agent.start()
    unruly.until_freed(id)
    unruly.settle()
    checks.assert_released(unruly, id)
