"""What sites report of allocations: steps, observations, and the usage they open and close.

A report counts if it is the site's own allocation, speaks of the claims that are held
now (their fences), and follows what was observed before. Otherwise it is stale and
changes nothing.
"""

from dataclasses import replace

from penstock.central.allocations import release, store
from penstock.central.allocations.model import OBSERVABLE, Allocation, Desired, Execution, Observed
from penstock.central.slots import service as slots
from penstock.central.usage import service as usage
from penstock.kernel import audit, db, events, log
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Tx
from penstock.kernel.feed import Rejected
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.ids import SiteId

logger = log.get(__name__)

OBSERVED = {
    wire.OBSERVED_ACTIVE: Observed.ACTIVE,
    wire.OBSERVED_STOPPING: Observed.STOPPING,
    wire.OBSERVED_RELEASED: Observed.RELEASED,
    wire.OBSERVED_FAILED: Observed.FAILED,
}
STEP = {
    wire.STEP_STATUS_STARTED: "started",
    wire.STEP_STATUS_DONE: "done",
    wire.STEP_STATUS_FAILED: "failed",
    wire.STEP_STATUS_UNDONE: "undone",
}


async def locked(tx: Tx, site_id: SiteId, id: str) -> Allocation:
    """The site's own allocation: a site can say nothing of another's."""
    allocation = await store.lock(tx, id)
    if allocation is None or allocation.site_id != site_id:
        raise Rejected(f"site {site_id} has no allocation {id[:64]!r}")
    return allocation


async def observed(tx: Tx, site_id: SiteId, report: wire.AllocationObserved) -> None:
    allocation = await locked(tx, site_id, report.allocation_id)
    state = OBSERVED.get(report.observed)
    if state is None:
        raise Rejected(f"observed state {report.observed} is not one of this version")
    if state not in OBSERVABLE[allocation.observed] or not await _current(tx, allocation, report):
        logger.info("stale observation", allocation=allocation.id, observed=state)
        return
    at = db.from_us(report.at_us)
    seen = replace(allocation, observed=state, observed_at=at, observed_reason=report.reason[:500])
    if state is Observed.FAILED:
        seen = replace(seen, failed_reason=seen.observed_reason or "realization failed")
    await store.observe(tx, seen)
    await _meter(tx, allocation, seen)
    events.emit(
        tx, "allocation.observed", seen.id, tenant_id=seen.tenant_id,
        observed=state, reason=seen.observed_reason, at=at.isoformat(),
    )  # fmt: skip
    if state is Observed.FAILED:
        events.emit(
            tx, "allocation.failed", seen.id, tenant_id=seen.tenant_id, reason=seen.failed_reason
        )
        if seen.desired is Desired.ACTIVE:
            audit.record(
                tx, SYSTEM, "allocation.release", seen.id,
                tenant_id=seen.tenant_id, reason=seen.failed_reason,
                desired=Desired.RELEASED, before={"desired": seen.desired},
            )  # fmt: skip
            await release.begin(tx, seen)


async def _current(tx: Tx, allocation: Allocation, report: wire.AllocationObserved) -> bool:
    """Whether the report speaks of claims that are held now."""
    held = {slot.id: slot.fence for slot in await slots.held_by(tx, allocation.id)}
    said = {fence.slot_id: fence.fence for fence in report.fences}
    return bool(said) and all(said.get(id) == fence for id, fence in held.items())


async def _meter(tx: Tx, before: Allocation, after: Allocation) -> None:
    if after.observed_at is None:
        return
    if after.observed is Observed.ACTIVE:
        await usage.begin(tx, after, after.observed_at)
    elif before.observed is Observed.ACTIVE:
        await usage.end(tx, after, after.observed_at)


async def stepped(tx: Tx, site_id: SiteId, report: wire.ExecutionStepped) -> None:
    allocation = await locked(tx, site_id, report.allocation_id)
    if report.revision > allocation.revision:
        raise Rejected(f"revision {report.revision} of {allocation.id} was never desired")
    execution = Execution(
        report.workflow[:50],
        report.step[:50],
        STEP.get(report.status, "unknown"),
        report.detail[:500],
        db.from_us(report.at_us),
    )
    # A late step of an older revision is history: it is told, but it is not the state.
    if report.revision == allocation.revision:
        await store.execute(tx, allocation.id, execution)
    events.emit(
        tx, "allocation.stepped", allocation.id, tenant_id=allocation.tenant_id,
        workflow=execution.workflow, step=execution.step, status=execution.status,
        detail=execution.detail,
    )  # fmt: skip
