"""What the site says of a lease: its steps, and what was observed of it."""

from typing import Final

from penstock.kernel import db, wakeups
from penstock.kernel.db import Tx
from penstock.site import reports
from penstock.site.leases import store
from penstock.site.leases.store import Lease
from penstock_contracts import wire_pb2 as wire

DESIRED: Final = "desired"  # told when a newer document arrived


def superseded(id: str) -> str:
    """What is told when a newer document of this allocation arrived."""
    return f"desired:{id}"


async def receive(tx: Tx, document: wire.DesiredAllocation) -> None:
    """Keep the newest document, and have its workflow started."""
    if await store.put(tx, document):
        wakeups.notify(tx, DESIRED)
        wakeups.notify(tx, superseded(document.allocation_id))


async def report_step(
    tx: Tx, lease: Lease, workflow: str, step: str, status: wire.StepStatus, detail: str = ""
) -> bool:
    """Tell central how far the workflow is, each step and status once; whether it was news."""
    name = wire.StepStatus.Name(status)
    at = await store.step(tx, lease, f"{workflow}.{step}", name)
    if at is None:
        return False
    stepped = wire.ExecutionStepped(
        allocation_id=lease.id,
        revision=lease.revision,
        workflow=workflow,
        step=step,
        status=status,
        at_us=db.to_us(at),
        detail=detail[:500],
    )
    correlation_id = lease.document.correlation_id
    reports.send(tx, wire.SiteReport(correlation_id=correlation_id, stepped=stepped))
    return True


async def report_observed(tx: Tx, lease: Lease, observed: wire.Observed, reason: str = "") -> None:
    """Tell central what is true of the lease; each observation once, with its first time."""
    at = await store.observe(tx, lease.id, wire.Observed.Name(observed))
    if at is None:
        return
    fences = [
        wire.SlotFence(slot_id=slot.slot_id, fence=slot.fence) for slot in lease.document.slots
    ]
    seen = wire.AllocationObserved(
        allocation_id=lease.id,
        revision=lease.revision,
        observed=observed,
        at_us=db.to_us(at),
        reason=reason[:500],
        fences=fences,
    )
    correlation_id = lease.document.correlation_id
    reports.send(tx, wire.SiteReport(correlation_id=correlation_id, observed=seen))


def report_cleanup(tx: Tx, lease: Lease, proofs: list[wire.Signed], reason: str = "") -> None:
    """Hand the node's proofs to central; or say why there are none."""
    cleanup = wire.CleanupReported(
        allocation_id=lease.id, revision=lease.revision, proofs=proofs, reason=reason[:500]
    )
    correlation_id = lease.document.correlation_id
    reports.send(tx, wire.SiteReport(correlation_id=correlation_id, cleanup=cleanup))
