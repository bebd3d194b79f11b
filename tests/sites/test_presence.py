"""A node whose link does not hold is not there for work, and central is told that once."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import db
from penstock.kernel.db import Database, Tx
from penstock.site.nodes import presence, steadiness, store
from penstock.site.nodes.model import Node
from penstock.site.nodes.presence import Ending
from penstock.site.nodes.steadiness import DOUBLINGS_MAX, FORGIVEN, FREE, SHORT, Steadiness
from penstock_contracts.ids import NodeId
from penstock_contracts.wire_pb2 import NodePresence, SiteReport

pytestmark = pytest.mark.anyio

FIRST_S = 10.0
DROPPED = Ending()
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = BEGAN

    def __call__(self) -> datetime:
        return self.now


class Link:
    """One node, whose links a test opens and ends at times of its own."""

    def __init__(self, database: Database, clock: Clock, node: Node) -> None:
        self.database = database
        self.clock = clock
        self.node = node
        self.sessions = 0

    @property
    def session(self) -> str:
        return f"site-1:{self.sessions}"

    async def up(self) -> float:
        self.sessions += 1
        _, wait_s = await self.database.run(
            lambda tx: presence.connected(
                tx, self.node.id, self.node.public_key, self.session, FIRST_S
            )
        )
        return wait_s

    async def down(self, ending: Ending = DROPPED, after: timedelta = timedelta()) -> None:
        self.clock.now += after
        await self.database.run(
            lambda tx: presence.disconnected(tx, self.node.id, self.session, ending, FIRST_S)
        )

    async def held(self) -> bool:
        return await self.database.run(lambda tx: presence.held(tx, self.node.id, self.session))

    async def told(self) -> list[tuple[bool, str]]:
        rows = await self.database.fetch(
            "SELECT body FROM feed_entries WHERE feed = 'central' ORDER BY seq"
        )
        said: list[NodePresence] = [SiteReport.FromString(row["body"]).presence for row in rows]
        return [(one.connected, one.reason) for one in said]


@pytest.fixture
async def link(site_url: str) -> AsyncGenerator[Link, None]:
    clock = Clock()
    database = await db.connect(site_url, "site", clock=clock)
    node = Node(NodeId.new(), "n", b"key")

    async def add(tx: Tx) -> None:
        assert await store.add(tx, node)

    await database.run(add)
    yield Link(database, clock, node)
    await database.close()


async def test_a_few_ends_cost_nothing_and_each_is_told(link: Link) -> None:
    for _ in range(FREE):
        assert await link.up() == 0
        await link.down()
    assert await link.told() == [(True, ""), (False, "")] * FREE


async def test_one_end_too_many_is_told_with_its_reason_and_then_nothing_is(link: Link) -> None:
    for _ in range(FREE + 20):
        await link.up()
        await link.down()
    told = await link.told()
    assert len(told) == 2 * (FREE + 1), "twenty more ends are no news"
    assert told[-1] == (False, f"its link does not hold: it ended {FREE + 1} times within minutes")


async def test_a_node_is_there_again_once_its_link_has_held(link: Link) -> None:
    for _ in range(FREE + 1):
        await link.up()
        await link.down()
    assert await link.up() == FIRST_S
    assert (await link.told())[-1][0] is False
    link.clock.now += timedelta(seconds=FIRST_S)
    assert await link.held()
    assert (await link.told())[-1] == (True, "")
    await link.down(after=SHORT)
    assert await link.up() == FIRST_S, "a link that held that long did not flap"
    await link.down(after=FORGIVEN)
    assert await link.up() == 0
    assert (await link.told())[-1] == (True, "")


async def test_a_link_that_ended_meanwhile_has_not_held(link: Link) -> None:
    await link.down()
    assert not await link.held()
    await link.up()
    await link.down()
    assert not await link.held()
    assert (await link.told())[-1] == (False, "")


async def test_a_fault_costs_at_once_and_is_named(link: Link) -> None:
    assert await link.up() == 0
    await link.down(Ending("a sequence number is out of range"))
    told = await link.told()
    assert told[-1] == (False, "its link does not hold: a sequence number is out of range")
    assert await link.up() == FIRST_S


async def test_two_that_take_a_link_from_each_other_flap(link: Link) -> None:
    """Two machines with one key: neither ever ends its link."""
    waits = [await link.up() for _ in range(FREE + 3)]
    assert waits[: FREE + 1] == [0.0] * (FREE + 1)
    assert waits[FREE + 1 :] == [FIRST_S, 2 * FIRST_S]
    assert [connected for connected, _ in await link.told()] == [True, False]


async def test_nobody_is_blamed_for_a_certificate_or_a_site_that_stops(link: Link) -> None:
    for _ in range(FREE + 5):
        assert await link.up() == 0
        await link.down(Ending(blameless=True))
    for _ in range(FREE + 5):
        assert await link.up() == 0
        await link.database.run(lambda tx: presence.forget_connections(tx, "site-1"))


async def test_a_connection_that_is_told_twice_counts_once(link: Link) -> None:
    """A commit whose answer was lost is tried again."""
    for _ in range(FREE + 3):
        await link.up()
        link.sessions -= 1
    assert (await link.told()) == [(True, "")]


@given(st.lists(st.tuples(st.integers(0, 120), st.booleans()), max_size=40))
def test_the_time_to_hold_is_bounded_and_quiet_forgives(ends: list[tuple[int, bool]]) -> None:
    now, seen = BEGAN, Steadiness()
    for lasted_s, faulty in ends:
        began, now = now, now + timedelta(seconds=lasted_s)
        seen = seen.ended(began, now, faulty=faulty)
        assert 0 <= seen.hold_s(now, 1) <= 2**DOUBLINGS_MAX
        assert not faulty or seen.hold_s(now, 1) >= 1
    assert seen.hold_s(now + FORGIVEN + steadiness.SHORT, 1) == 0
