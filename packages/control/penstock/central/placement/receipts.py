"""Placement receipts: why a lease went where it did, enough to decide again.

The log keeps them lean: what its own row says is not said again, nor what is as it always is.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, cast

import orjson

from penstock.central import fleet
from penstock.central.allocations import service as allocations
from penstock.central.fleet import Change
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, Gone
from penstock.placement import solver
from penstock.placement.model import Plan, Request, Shape, Strategy
from penstock.placement.nodes import WHOLE_MILLI
from penstock.placement.solving import screens
from penstock_contracts.ids import AllocationId

Receipt = dict[str, Any]  # JSON of our own making
TUPLES: Final = ("sites", "families_allowed", "residency", "apart_from", "kept")


def keep(request: Request, plan: Plan, *, policy_revision: int, revision: int) -> str:
    """For the log. `revision` is the fleet's, when it was decided; `policy_revision` the tenant's
    policy's."""
    kept: Receipt = {
        "policy": solver.POLICY,
        "policy_revision": policy_revision,
        "fleet_revision": revision,
        "request": orjson.Fragment(_lean(request)),
        "candidates": [tuple(candidate) for candidate in plan.candidates],
        "rejections": {rule: count for rule, count in plan.rejections.items() if count},
    }
    if len(plan.parts) > 1:
        kept["nodes"] = plan.node_ids  # of a gang: its lines of the log follow in this order
    return orjson.dumps(kept).decode()


async def get(tx: Tx, actor: Actor, id: str) -> Receipt:
    """The receipt of a lease that the actor may see."""
    allocation = await allocations.get(tx, actor, id)
    if allocation.placed_at is None:
        raise Conflict(
            f"allocation {allocation.id} is {allocation.status}; only a placement has a receipt",
            code="not_placed",
        )
    found = await of(tx, allocation.id)
    if found is None:
        raise Gone(f"the receipt of allocation {allocation.id} is not kept any more")
    return found


async def of(tx: Tx, id: AllocationId) -> Receipt | None:
    """The receipt of a lease; None if it was never placed."""
    claimed = await fleet.claimed(tx, id)
    return None if claimed is None else recall(*claimed)


def recall(line: Change, kept: Mapping[str, Any]) -> Receipt:
    """All of a receipt, from what the log kept of it and from its line of the log."""
    if "slots" in kept:
        return dict(kept)  # written when receipts were kept whole
    rules = screens.TALLIED if kept["policy"] == solver.POLICY else ()
    gang = {"nodes": kept["nodes"]} if "nodes" in kept else {}
    return {
        "policy": kept["policy"],
        "policy_revision": kept["policy_revision"],
        "fleet_revision": kept["fleet_revision"],
        "request": orjson.loads(orjson.dumps(request_of(kept["request"]))),
        "node": kept.get("node", line.node_id),
        **gang,
        "slots": [
            {"slot_id": slot, "fence": line.revision, "milli": WHOLE_MILLI}
            for slot in line.slot_ids
        ],
        "candidates": [
            {"node": node, "score": score, "alike": alike}
            for node, score, alike in kept["candidates"]
        ],
        "rejections": dict.fromkeys(rules, 0) | kept["rejections"],
    }


def request_of(kept: Mapping[str, object]) -> Request:
    """The request in a placement receipt."""
    known = Request.__dataclass_fields__
    fields = {name: value for name, value in kept.items() if name in known}
    for name in TUPLES:
        if fields.get(name) is not None:
            fields[name] = tuple(cast("list[str]", fields[name]))
    fields["shape"] = Shape(str(kept["shape"]))
    fields["strategy"] = Strategy(str(kept.get("strategy", Strategy.PACK)))
    return Request(**fields)  # pyright: ignore[reportArgumentType] # written by `_lean`


@lru_cache(maxsize=1024)
def _lean(request: Request) -> bytes:
    """Without what nobody asked for. Many ask for the same."""
    fields = Request.__dataclass_fields__
    every = {name: getattr(request, name) for name in fields}
    return orjson.dumps({n: value for n, value in every.items() if value != fields[n].default})
