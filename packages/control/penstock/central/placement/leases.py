"""Running slices as the planner of moves sees them."""

from collections.abc import Mapping
from typing import cast

from penstock.central.allocations import store as allocations
from penstock.kernel.db import Tx
from penstock.placement.model import Request, Shape, Strategy
from penstock.placement.moves import Lease

TUPLES = ("sites", "families_allowed", "residency", "apart_from")


async def running(tx: Tx, families: list[str], site_ids: list[str]) -> list[Lease]:
    """Slices that run now, with the request that each was placed for."""
    rows = await allocations.running_slices(tx, families, site_ids)
    return [
        Lease(
            id=row["id"],
            tenant=row["tenant_id"],
            node_id=row["node_id"],
            slot_ids=tuple(row["slot_ids"]),
            request=request_of(row["request"]),
        )
        for row in rows
    ]


async def stamp(tx: Tx) -> object:
    """Differs whenever a slice began to run or no longer does."""
    return await allocations.running_stamp(tx)


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
