"""Leases that must stay apart do, whichever of them is placed first, and however they waited."""

from collections.abc import AsyncGenerator
from typing import cast

import pytest

from penstock.central.allocations.model import Allocation
from penstock.central.nodes import service as nodes
from penstock.central.placement import receipts, replaying
from penstock.central.placement.commit import Committer
from penstock.central.policies.model import Terms
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Database

from . import fleet_stage
from .line_stage import Line, violations
from .plane import as_superuser

pytestmark = pytest.mark.anyio


@pytest.fixture
async def line(database: Database) -> AsyncGenerator[Line, None]:
    """Two nodes of two GPUs. Whatever a test did, the invariants hold after it."""
    stage = await fleet_stage.build(database, nodes=2, gpus=2)
    yield Line(stage, Committer(database))
    assert await violations(database) == {}


def apart(*others: Allocation) -> Terms:
    return Terms(apart_from=tuple(other.id for other in others))


async def drain(line: Line, node: str, *, draining: bool = True) -> None:
    async with line.stage.database.transaction() as tx:
        await nodes.drain(tx, SYSTEM, node, draining=draining, reason="")


async def stays_apart_from(line: Line, lease: Allocation) -> list[str]:
    """Nodes, by its receipt, which replays."""
    async with line.stage.database.transaction() as tx:
        receipt = await receipts.of(tx, lease.id)
        assert receipt is not None
        assert (await replaying.replay(tx, receipt)).same
    return list(receipts.request_of(cast("dict[str, object]", receipt["request"])).apart_from)


async def test_two_that_waited_together_go_apart(line: Line) -> None:
    first, second = line.stage.nodes
    held = await line.hold(2)
    await drain(line, second)
    named = await line.queue(1)
    naming = await line.queue(1, terms=apart(named))
    await drain(line, second, draining=False)
    await line.round()
    assert await line.statuses(named, naming) == ["placed", "queued"]
    assert (await line.get(named.id)).node_id == second
    await line.stage.give_back(held.id)
    await line.round()
    assert (await line.get(naming.id)).node_id == first
    assert await stays_apart_from(line, naming) == [second]


async def test_one_that_waits_is_not_put_beside_who_named_it_until_that_is_clean(
    line: Line,
) -> None:
    first, second = line.stage.nodes
    for node in (first, second):
        await drain(line, node)
    named = await line.queue(1)
    await drain(line, first, draining=False)
    admin = Actor("key", "k", "admin", line.stage.tenant_id)
    naming = await line.hold(1, terms=apart(named), priority=51, actor=admin)
    assert await stays_apart_from(line, naming) == [], "there was nothing to stay apart from yet"
    assert await line.statuses(named) == ["queued"], "decided in the same round"
    await line.round()
    assert await line.statuses(named) == ["queued"], "and in every later one"
    await line.cancel(naming.id)
    await line.round()
    assert await line.statuses(named) == ["queued"], "its cleanup is not proven"
    await line.stage.give_back(naming.id)
    await line.round()
    assert (await line.get(named.id)).node_id == first


async def test_a_pair_that_is_together_is_found(line: Line, central_url: str) -> None:
    one, other = await line.hold(1), await line.hold(1)
    assert one.node_id == other.node_id
    pair = f"('{one.id}', '{other.id}', '{one.tenant_id}')"
    await as_superuser(central_url, f"INSERT INTO apart VALUES {pair}")
    assert await violations(line.stage.database) == {"not_apart": 1}
    await as_superuser(central_url, "DELETE FROM apart")
