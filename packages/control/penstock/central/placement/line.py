"""The line: beginning to wait, and having waited too long."""

from collections.abc import Mapping, Sequence

from penstock.central.allocations import nudges, partings, store, waiting
from penstock.central.allocations.model import Allocation
from penstock.central.placement import leases, wants
from penstock.central.placement.wants import Want
from penstock.kernel import audit, events
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Tx
from penstock_contracts.ids import AllocationId


async def load(tx: Tx, ids: Sequence[AllocationId]) -> list[Want]:
    """What those want who wait. Whoever waited too long waits no more."""
    if not ids:
        return []
    found = await store.find(tx, list(ids))
    overdue = {a.id for a in found if a.wait.expires_at and a.wait.expires_at <= tx.now}
    if overdue:
        await _expire(tx, [a for a in found if a.id in overdue])
    rest = [a for a in found if a.id not in overdue]
    wanted = await wants.again(tx, sorted(rest, key=lambda a: a.id))
    passed_over = {a.id for a in rest if a.wait.kept_nodes} - {want.ask.id for want in wanted}
    await waiting.keep_nothing(tx, sorted(passed_over))
    return wanted


async def begin(tx: Tx, staying: Sequence[Want]) -> list[Allocation]:
    new = [want for want in staying if want.waited is None]
    queued = [leases.queued(tx, want, place) for place, want in enumerate(new)]
    if queued:
        await store.insert(tx, queued)
        await partings.keep(tx, queued)
    return queued


def announce(tx: Tx, queued: Sequence[Allocation], known: Mapping[str, Want]) -> None:
    if queued:
        nudges.begin(tx)
    for allocation in queued:
        tx.correlation_id = allocation.correlation_id
        wait = allocation.wait
        audit.record(
            tx, known[allocation.id].ask.actor, "allocation.create", allocation.id,
            reason=known[allocation.id].ask.reason, tenant_id=allocation.tenant_id,
            sku=allocation.sku_name, gpus=allocation.gpus, nodes=allocation.nodes, queued=True,
            priority=wait.priority,
        )  # fmt: skip
        events.emit(
            tx, "allocation.queued", allocation.id, tenant_id=allocation.tenant_id,
            project=allocation.project_id, sku=allocation.sku_name, gpus=allocation.gpus,
            nodes=allocation.nodes, priority=wait.priority, expires_at=wait.expires_at,
            reason=allocation.reason,
            position=wait.estimate.position if wait.estimate else None,
        )  # fmt: skip


async def _expire(tx: Tx, overdue: Sequence[Allocation]) -> None:
    await waiting.expire(tx, [a.id for a in overdue])
    for allocation in overdue:
        tx.correlation_id = allocation.correlation_id
        wait = allocation.wait
        reason = f"no room came until {wait.expires_at}" + (
            ", its end" if wait.until_its_end else ""
        )
        audit.record(
            tx, SYSTEM, "allocation.expire", allocation.id,
            tenant_id=allocation.tenant_id, reason=reason,
        )  # fmt: skip
        events.emit(
            tx, "allocation.expired", allocation.id, tenant_id=allocation.tenant_id, reason=reason
        )
