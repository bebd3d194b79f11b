"""Receipts: whatever happened since, deciding again on the fleet as it was leads to the same."""

import random
from typing import Any

import asyncpg
import pytest
from logins import superuser_url

from penstock.central.nodes import service as nodes
from penstock.central.placement import receipts, replaying
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Placed
from penstock.central.placement.replaying import Replay
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Database
from penstock_contracts.ids import AllocationId

from . import fleet_stage
from .fleet_stage import Stage

pytestmark = pytest.mark.anyio


async def lived(stage: Stage, seed: int) -> list[AllocationId]:
    """Leases of a fleet that two replicas place on, while nodes are drained and slots come free."""
    rng = random.Random(seed)
    replicas = [Committer(stage.database), Committer(stage.database)]
    held: list[AllocationId] = []
    every: list[AllocationId] = []
    for _ in range(25):
        asks = [stage.ask(rng.randint(1, 4)) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.2:
            asks.append(stage.ask(8, "metal"))
        for outcome in await rng.choice(replicas).commit(asks):
            if isinstance(outcome, Placed):
                held.append(outcome.allocation.id)
                every.append(outcome.allocation.id)
        while held and rng.random() < 0.6:
            await stage.give_back(held.pop(rng.randrange(len(held))))
        node, draining = rng.choice(list(stage.nodes)), rng.random() < 0.5
        async with stage.database.transaction() as tx:
            await nodes.drain(tx, SYSTEM, node, draining=draining, reason="")
    return every


async def replayed(database: Database, id: AllocationId) -> tuple[dict[str, Any], Replay]:
    async with database.transaction() as tx:
        receipt = await receipts.of(tx, id)
        assert receipt is not None
        return receipt, await replaying.replay(tx, receipt)


@pytest.mark.parametrize("seed", range(3))
async def test_every_receipt_replays_to_itself(database: Database, seed: int) -> None:
    stage = await fleet_stage.build(database, nodes=4)
    ids = await lived(stage, seed)
    assert len(ids) > 15
    for id in ids:
        receipt, again = await replayed(database, id)
        assert again.same, (again.differences, receipt, again.receipt)
        assert again.receipt == receipt


async def test_a_receipt_that_lies_is_found_out(database: Database, central_url: str) -> None:
    stage = await fleet_stage.build(database, nodes=3)
    ids = await lived(stage, seed=9)
    owner = await asyncpg.connect(superuser_url(central_url))
    lies = {
        "node": '"node_elsewhere"',
        "rejections": '{"schedulable": 99}',
        "candidates": "[]",
        "policy": '"another/1"',
        "fleet_revision": "0",
    }
    for (field, lie), id in zip(lies.items(), ids, strict=False):
        await owner.execute(
            "UPDATE fleet_changes SET receipt = jsonb_set(receipt::jsonb, ARRAY[$2], $3::jsonb) "
            "WHERE allocation_id = $1 AND kind = 'claim'",
            id,
            field,
            lie,
        )
        _, again = await replayed(database, id)
        assert not again.same
        assert again.differences[0] in (field, "node", "slots")
    await owner.close()


async def test_the_log_has_no_gaps_and_a_line_for_each_claim(database: Database) -> None:
    stage = await fleet_stage.build(database, nodes=3)
    ids = await lived(stage, seed=5)
    rows = await database.fetch(
        "SELECT revision, kind, allocation_id FROM fleet_changes ORDER BY 1"
    )
    assert [row["revision"] for row in rows] == list(range(1, len(rows) + 1))
    assert [r["allocation_id"] for r in rows if r["kind"] == "claim"] == list(ids)
