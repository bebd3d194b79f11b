"""Deciding again, on the fleet as it was: does a receipt tell the truth?"""

from dataclasses import dataclass

import orjson

from penstock.central import fleet_history
from penstock.central.fleet import Change
from penstock.central.nodes.seen import see_all
from penstock.central.placement import receipts
from penstock.central.placement.receipts import Receipt
from penstock.kernel.db import Tx
from penstock.placement import solver
from penstock.placement.model import Fleet, Plan


@dataclass(frozen=True)
class Replay:
    """What deciding again leads to. `differences` are the fields that are not the same."""

    same: bool
    differences: list[str]
    receipt: Receipt | None  # None: it would be refused


async def replay(tx: Tx, receipt: Receipt) -> Replay:
    if receipt["policy"] != solver.POLICY:
        return Replay(False, ["policy"], None)
    request = receipts.request_of(receipt["request"])
    revision: int = receipt["fleet_revision"]
    await fleet_history.refuse_trimmed(tx, revision)
    past = await fleet_at(tx, revision, request.family)
    plan = solver.solve(request, past)
    if not isinstance(plan, Plan):
        return Replay(False, ["node"], None)
    kept = receipts.keep(
        request, plan, policy_revision=receipt["policy_revision"], revision=revision
    )
    nth = receipt["nodes"].index(receipt["node"]) if "nodes" in receipt else 0  # of a gang
    part = plan.parts[nth]
    line = Change(revision + 1 + nth, "claim", part.node_id, part.slot_ids)
    again = receipts.recall(line, orjson.loads(kept))
    differences = [name for name in receipt if receipt[name] != again.get(name)]
    return Replay(not differences, differences, again)


async def fleet_at(tx: Tx, revision: int, family: str) -> Fleet:
    """A family as it was, rebuilt from the log."""
    past = Fleet(revision=revision)
    for node in see_all(await fleet_history.nodes_at(tx, revision, family)):
        past.put(node)
    return past
