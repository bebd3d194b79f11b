"""Nodes kept for those who wait: nobody is told that they could be had."""

from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest

from penstock.central.allocations.model import Allocation
from penstock.central.availability import service as availability
from penstock.central.nodes import service as nodes
from penstock.central.placement import receipts, replaying
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Placed
from penstock.central.placement.reading import Reading
from penstock.central.tenants import life
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Database
from penstock.kernel.errors import Problem

from . import fleet_stage
from .line_stage import Line, violations

pytestmark = pytest.mark.anyio
ADMIN = Actor("key", "admin", "platform_admin")


class Kept(Line):
    """`kept` has seven of eight GPUs free, and is kept for who waits; `other` has two free."""

    kept: str
    other: str
    head: Allocation

    async def fill(self) -> None:
        self.kept, self.other = self.stage.nodes
        await self.drain(self.other, draining=True)
        await self.hold(1)
        await self.drain(self.other, draining=False)
        await self.drain(self.kept, draining=True)
        for gpus in (4, 2):
            await self.hold(gpus)
        await self.drain(self.kept, draining=False)
        self.head = await self.queue(8, "metal")
        assert (await self.get(self.head.id)).wait.kept_nodes == (self.kept,)

    async def drain(self, node: str, *, draining: bool) -> None:
        async with self.stage.database.transaction() as tx:
            await nodes.drain(tx, SYSTEM, node, draining=draining, reason="")


@pytest.fixture
async def line(database: Database) -> AsyncGenerator[Kept, None]:
    stage = await fleet_stage.build(database, nodes=2)
    line = Kept(stage, Committer(database))
    await line.fill()
    yield line
    assert await violations(database) == {}


async def fits(line: Kept, actor: Actor) -> dict[int, int]:
    """By size: how many slices fit now."""
    async with line.stage.database.transaction() as tx:
        seen = await availability.look(tx, actor, Reading(), sku="slice", site=None)
    return {gpus: sum(count.values()) for (_, gpus), count in seen.counts.items()}


async def refused(line: Kept, gpus: int) -> tuple[Problem, dict[str, Any]]:
    (outcome,) = await line.ask(line.stage.ask(gpus))
    assert isinstance(outcome, Problem), outcome
    return outcome, cast("dict[str, Any]", outcome.extras["explanation"])


async def test_what_is_suggested_while_somebody_waits_can_be_had(line: Kept) -> None:
    problem, told = await refused(line, 4)
    assert "kept for those who wait" in problem.detail
    assert problem.suggestion == "it would fit with 2 GPUs"
    assert [(c["gpus"], c["node"]) for c in told["changes"]] == [(2, line.other), (1, line.other)]
    assert (told["rejections"]["kept"], told["rejections"]["apart"]) == (1, 0)
    followed = await line.hold(2)
    assert followed.node_id == line.other
    problem, told = await refused(line, 1)
    assert told["changes"] == []
    assert problem.suggestion == "ask with `queue: true` (`--queue`) to wait as well"


async def test_of_higher_priority_what_is_kept_can_be_had(line: Kept) -> None:
    admin = Actor("key", "k", "admin", line.stage.tenant_id)
    (outcome,) = await line.ask(line.stage.ask(8, "metal", priority=51, actor=admin))
    assert isinstance(outcome, Problem)
    (placed,) = await line.ask(line.stage.ask(4, priority=51, actor=admin))
    assert isinstance(placed, Placed)
    assert placed.allocation.node_id == line.kept


async def test_what_is_kept_is_not_available(line: Kept) -> None:
    member = Actor("key", "k", "member", line.stage.tenant_id)
    for actor in (member, ADMIN):
        assert await fits(line, actor) == {1: 2, 2: 1, 3: 0, 4: 0}
    await line.cancel(line.head.id)
    for actor in (member, ADMIN):
        assert await fits(line, actor) == {1: 9, 2: 4, 3: 2, 4: 1}


async def test_the_receipt_of_who_was_placed_beside_says_what_was_kept(line: Kept) -> None:
    placed = await line.hold(1)
    async with line.stage.database.transaction() as tx:
        receipt = await receipts.of(tx, placed.id)
        assert receipt is not None
        assert (await replaying.replay(tx, receipt)).same
    request = receipts.request_of(cast("dict[str, object]", receipt["request"]))
    assert (request.kept, request.apart_from) == ((line.kept,), ())


async def test_nothing_is_kept_for_one_whose_tenant_may_lease_nothing(line: Kept) -> None:
    async with line.stage.database.transaction() as tx:
        await life.suspend(tx, SYSTEM, line.stage.tenant_id, "unpaid")
    await line.round()
    assert (await line.get(line.head.id)).wait.kept_nodes == ()
    assert await fits(line, ADMIN) == {1: 9, 2: 4, 3: 2, 4: 1}
