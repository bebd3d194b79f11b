"""What those who wait are told: their place in line, when it may be their turn, and for what
they wait. Kept on their rows, so that asking for it costs nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.central.allocations import waiting as line
from penstock.central.allocations.wait import Estimate, WaitedFor
from penstock.central.placement.wants import Want
from penstock.kernel.db import Tx
from penstock.placement.line import estimates
from penstock.placement.line.waiting import Holdings, Lease, Placement, Staying
from penstock.placement.model import Fleet
from penstock_contracts.ids import AllocationId, TenantId

Told = Mapping[AllocationId, tuple[Estimate, tuple[str, ...]]]


@dataclass(frozen=True)
class Outlook:
    """All that an estimate is made of, besides the leases near by."""

    staying: tuple[Staying, ...]
    placed: tuple[Placement, ...]
    fleet: Fleet
    holdings: Holdings
    ending: Sequence[Lease]


async def tell(tx: Tx, outlook: Outlook, known: Mapping[str, Want]) -> Told:
    """Everyone's estimate and kept nodes; those that changed are written."""
    asked = estimates.foremost(outlook.staying)
    near = await line.leases_on(tx, estimates.near_nodes(asked, outlook.fleet))
    new = [placed.waiting.lease(placed.plan) for placed in outlook.placed]
    every = {lease.id: lease for lease in (*near, *outlook.ending, *new)}
    found = estimates.estimate(
        outlook.staying, outlook.fleet, outlook.holdings, list(every.values()), tx.now
    )
    told: dict[AllocationId, tuple[Estimate, tuple[str, ...]]] = {}
    for staying, estimate in zip(outlook.staying, found, strict=True):
        kept = staying.kept.nodes if staying.kept else ()
        told[AllocationId(estimate.id)] = _estimate(estimate), kept
    await line.tell(tx, {id: new for id, new in told.items() if new != _before(known[id])})
    return told


def _estimate(found: estimates.Estimate) -> Estimate:
    leases = (WaitedFor(AllocationId(each.id), TenantId(each.tenant)) for each in found.leases)
    return Estimate(found.position, found.at, found.waits_for, tuple(leases))


def _before(want: Want) -> tuple[Estimate | None, tuple[str, ...]]:
    wait = want.waited.wait if want.waited else None
    return (wait.estimate, wait.kept_nodes) if wait else (None, ())
