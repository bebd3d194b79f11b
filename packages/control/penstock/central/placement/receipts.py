"""Placement receipts: why a lease went where it did, enough to decide again."""

from collections.abc import Mapping
from typing import Final, cast

from penstock.placement import solver
from penstock.placement.model import Plan, Request, Shape, Strategy

TUPLES: Final = ("sites", "families_allowed", "residency", "apart_from", "kept")


def write(
    request: Request, plan: Plan, *, policy_revision: int, revision: int
) -> dict[str, object]:
    """`revision` is the fleet's, when it was decided; `policy_revision` the tenant's policy's."""
    return {
        "policy": solver.POLICY,
        "policy_revision": policy_revision,
        "fleet_revision": revision,
        "request": request,
        "node": plan.node_id,
        "slots": plan.taken,
        "candidates": [
            {"node": c.node_id, "score": c.score, "alike": c.alike} for c in plan.candidates
        ],
        "rejections": plan.rejections,
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
    return Request(**fields)  # pyright: ignore[reportArgumentType] # written by asdict
