"""What the site says of a lease: its steps, and what was observed of it."""

from penstock.kernel import db
from penstock.kernel.db import Tx
from penstock.site.documents import telling
from penstock.site.leases.model import Lease
from penstock_contracts import wire_pb2 as wire


async def step(
    tx: Tx, lease: Lease, workflow: str, step: str, status: wire.StepStatus, detail: str = ""
) -> bool:
    """Tell central how far the workflow is, each step and status once; whether it was news."""
    return await telling.step(tx, lease.document, workflow, step, status, detail)


async def observed(tx: Tx, lease: Lease, observed: wire.Observed, reason: str = "") -> None:
    """Tell central what is true of the lease; each observation once, with its first time."""
    at = await telling.first(tx, lease.document, wire.Observed.Name(observed))
    if at is None:
        return
    fences = [
        wire.SlotFence(slot_id=slot.slot_id, fence=slot.fence) for slot in lease.desired.slots
    ]
    seen = wire.AllocationObserved(
        observed=observed,
        at_us=db.to_us(at),
        reason=reason[: telling.DETAIL_MAX],
        fences=fences,
    )
    telling.report(tx, lease.document, wire.LeaseReport(observed=seen))


def cleanup(tx: Tx, lease: Lease, proofs: list[wire.Signed], reason: str = "") -> None:
    """Hand the node's proofs to central; or say why there are none."""
    cleanup = wire.CleanupReported(proofs=proofs, reason=reason[: telling.DETAIL_MAX])
    telling.report(tx, lease.document, wire.LeaseReport(cleanup=cleanup))
