"""What sites report of allocations: steps, observations, and the usage they open and close.

A report counts if it is the site's own allocation, speaks of the claims that are held
now (their fences), and follows what was observed before. Otherwise it is stale and
changes nothing. What it says of times is bounded by what central knows (`times`).
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from penstock.central.allocations import metering, release, store, times, together
from penstock.central.allocations.model import OBSERVABLE, Allocation, Desired, Execution, Observed
from penstock.central.disputes import service as disputes
from penstock.central.disputes.model import Dispute, Edge
from penstock.central.slots import service as slots
from penstock.kernel import db, events, log
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Tx
from penstock.kernel.feed import Rejected
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.ids import DisputeId, SiteId

logger = log.get(__name__)

OBSERVED = {
    wire.OBSERVED_ACTIVE: Observed.ACTIVE,
    wire.OBSERVED_STOPPING: Observed.STOPPING,
    wire.OBSERVED_RELEASED: Observed.RELEASED,
    wire.OBSERVED_FAILED: Observed.FAILED,
}
GIVEN_BACK: Final = {Observed.STOPPING, Observed.RELEASED}
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


async def observed(
    tx: Tx, site_id: SiteId, told: wire.Reported, report: wire.AllocationObserved
) -> None:
    allocation = await locked(tx, site_id, told.key)
    state = OBSERVED.get(report.observed)
    if state is None:
        raise Rejected(f"observed state {report.observed} is not one of this version")
    _refuse_unasked(allocation, state, told.revision)
    if state not in OBSERVABLE[allocation.observed] or not await _current(tx, allocation, report):
        logger.info("stale observation", allocation=allocation.id, observed=state)
        return
    said = db.from_us(report.at_us)
    at = await _count(tx, allocation, state, said)
    seen = replace(allocation, observed=state, observed_at=at, observed_reason=report.reason[:500])
    if state is Observed.FAILED:
        seen = replace(seen, failed_reason=seen.observed_reason or "realization failed")
    await store.observe(tx, seen)
    await _meter(tx, allocation, seen)
    events.emit(
        tx, "allocation.observed", seen.id, tenant_id=seen.tenant_id,
        observed=state, reason=seen.observed_reason, at=at.isoformat(),
        reported_at=said.isoformat(),
    )  # fmt: skip
    if state is Observed.FAILED:
        events.emit(
            tx, "allocation.failed", seen.id, tenant_id=seen.tenant_id, reason=seen.failed_reason
        )
        if seen.desired is Desired.ACTIVE:
            await release.give_back(tx, SYSTEM, seen, seen.failed_reason)
            if seen.gang_id is not None:  # none goes on without it
                why = f"{seen.id} of the same gang failed: {seen.failed_reason}"
                await release.give_back_gang(tx, SYSTEM, seen.gang_id, why)
    if seen.status is not allocation.status:
        await together.tell(tx, allocation)


def _refuse_unasked(allocation: Allocation, state: Observed, revision: int) -> None:
    """A site answers what it was asked: it does not stop or release of its own accord."""
    if revision > allocation.revision:
        raise Rejected(f"revision {revision} of {allocation.id} was never desired")
    if state in GIVEN_BACK and allocation.desired is not Desired.RELEASED:
        raise Rejected(f"nobody asked for the release of {allocation.id}")


async def _count(
    tx: Tx, allocation: Allocation, state: Observed, said: datetime | None, reason: str = ""
) -> datetime:
    """The time that counts. A time that cannot be is kept as a dispute, if usage depends on it."""
    window = times.window(allocation, tx.now)
    if said is not None:
        reason = window.refusal(said)
        if not reason:
            return window.nearest(said)
    counted = times.in_favour(window, state)
    if state is Observed.ACTIVE or allocation.observed is Observed.ACTIVE:
        await disputes.open(
            tx,
            Dispute(
                DisputeId.new(), allocation.id, allocation.tenant_id, allocation.organization_id,
                allocation.project_id, allocation.where[0],
                Edge.BEGIN if state is Observed.ACTIVE else Edge.END,
                said, window.earliest, window.latest, counted, reason, tx.now,
            ),
        )  # fmt: skip
    return counted


async def freed(tx: Tx, allocation: Allocation) -> None:
    """Every slot is proven clean, so nothing is used any more, whatever its site left unsaid."""
    if allocation.observed is not Observed.ACTIVE:
        return
    reason = "its site proved its cleanup and never said when it stopped"
    at = await _count(tx, allocation, Observed.RELEASED, None, reason)
    seen = replace(allocation, observed=Observed.RELEASED, observed_at=at, observed_reason=reason)
    await store.observe(tx, seen)
    await metering.end(tx, seen, at)


async def _current(tx: Tx, allocation: Allocation, report: wire.AllocationObserved) -> bool:
    """Whether the report speaks of claims that are held now. What was freed cannot begin."""
    if allocation.freed_at is not None and report.observed == wire.OBSERVED_ACTIVE:
        return False
    held = {slot.id: slot.fence for slot in await slots.held_by(tx, allocation.id)}
    said = {fence.slot_id: fence.fence for fence in report.fences}
    return bool(said) and all(said.get(id) == fence for id, fence in held.items())


async def _meter(tx: Tx, before: Allocation, after: Allocation) -> None:
    if after.observed_at is None:
        return
    if after.observed is Observed.ACTIVE:
        await metering.begin(tx, after, after.observed_at)
    elif before.observed is Observed.ACTIVE:
        await metering.end(tx, after, after.observed_at)


async def stepped(tx: Tx, site_id: SiteId, report: wire.Stepped) -> None:
    allocation = await locked(tx, site_id, report.key)
    if report.revision > allocation.revision:
        raise Rejected(f"revision {report.revision} of {allocation.id} was never desired")
    placed_at = allocation.placed_at or tx.now
    execution = Execution(
        report.workflow[:50],
        report.step[:50],
        STEP.get(report.status, "unknown"),
        report.detail[:500],
        min(max(db.from_us(report.at_us), placed_at), tx.now),
    )
    # A late step of an older revision is history: it is told, but it is not the state.
    if report.revision == allocation.revision:
        await store.execute(tx, allocation.id, execution)
    events.emit(
        tx, "allocation.stepped", allocation.id, tenant_id=allocation.tenant_id,
        workflow=execution.workflow, step=execution.step, status=execution.status,
        detail=execution.detail,
    )  # fmt: skip
