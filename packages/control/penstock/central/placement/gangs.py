"""From a plan for several whole nodes to the leases that stand for it, one for each node."""

from collections.abc import Iterator
from dataclasses import replace

from penstock.central.allocations.model import Allocation
from penstock.central.placement import leases
from penstock.central.placement.wants import Want
from penstock.kernel.db import Tx
from penstock.placement.model import Plan
from penstock_contracts.ids import AllocationId


def members(tx: Tx, want: Want, plan: Plan) -> Iterator[tuple[Want, Allocation, Plan]]:
    """The lead first: it is what was asked for, under the id and the key of the asking. The others
    have ids in the plan's order, which is how they are listed."""
    besides = sorted(AllocationId.new() for _ in plan.parts[1:])
    for part, id in zip(plan.parts, (None, *besides), strict=True):
        own = want if id is None else _besides(want, id)
        one = plan._replace(parts=(part,))
        yield own, replace(leases.placed(tx, own, one), gang_id=want.ask.id), one


def _besides(want: Want, id: AllocationId) -> Want:
    """What a member is that nobody asked for by itself. If the gang waited, it did not."""
    return replace(want, ask=replace(want.ask, id=id, key=None, nodes=1), waited=None)
