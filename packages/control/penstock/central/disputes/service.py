"""What may be done to a dispute. The caller owns the transaction."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from prometheus_client import Counter

from penstock.central.access.authorization import Resource, authorize, authorize_list
from penstock.central.disputes import store
from penstock.central.disputes.model import Dispute, Edge
from penstock.central.sites import service as sites
from penstock.central.usage import service as usage
from penstock.kernel import audit, events, feed, log
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, NotFound
from penstock_contracts.ids import AllocationId

logger = log.get(__name__)
OPENED: Final = Counter("penstock_disputes_opened", "Reported times that cannot be", ["edge"])


def resource(dispute: Dispute) -> Resource:
    return Resource(
        "dispute", dispute.id, dispute.tenant_id, dispute.organization_id, dispute.project_id
    )


async def open(tx: Tx, dispute: Dispute) -> None:
    """Keep what a site said, what could be, and what counts until an operator settles it."""
    await store.add(tx, dispute)
    OPENED.labels(dispute.edge).inc()
    logger.warning(
        "reported time refused", dispute=dispute.id, allocation=dispute.allocation_id,
        site=dispute.site_id, why=dispute.reason,
    )  # fmt: skip
    events.emit(
        tx, "usage.disputed", dispute.allocation_id, tenant_id=dispute.tenant_id,
        dispute=dispute.id, edge=dispute.edge, reason=dispute.reason,
        counted_at=dispute.counted_at.isoformat(),
    )  # fmt: skip


async def get(tx: Tx, actor: Actor, id: str) -> Dispute:
    return await _permitted(tx, actor, id, "dispute.view")


async def page(
    tx: Tx, actor: Actor, *, settled: bool | None, after: str, limit: int
) -> list[Dispute]:
    reach = authorize_list(actor, "dispute")
    return await store.page(tx, reach, settled=settled, after=after, limit=limit)


async def settle(tx: Tx, actor: Actor, id: str, *, at: datetime | None, reason: str) -> Dispute:
    """Let another time count, within what could be; or, with none, what counts already."""
    seen = await _permitted(tx, actor, id, "dispute.settle")
    await feed.hold(tx, sites.orders(seen.site_id))  # only its reports change its usage besides
    dispute = await _permitted(tx, actor, id, "dispute.settle")
    counted = at or dispute.counted_at
    _refuse_impossible(dispute, counted)
    if dispute.settled_at is None or counted != dispute.counted_at:
        return await _settle(tx, actor, dispute, counted, reason)
    return dispute


async def _settle(
    tx: Tx, actor: Actor, dispute: Dispute, counted: datetime, reason: str
) -> Dispute:
    if counted != dispute.counted_at:
        since, to = (counted, None) if dispute.edge is Edge.BEGIN else (None, counted)
        await usage.correct(tx, dispute.allocation_id, since=since, to=to)
    settled = replace(
        dispute, counted_at=counted, settled_at=tx.now, settled_by=actor.name,
        settled_reason=reason,
    )  # fmt: skip
    await store.settle(tx, settled)
    audit.record(
        tx, actor, "dispute.settle", dispute.id, tenant_id=dispute.tenant_id, reason=reason,
        counted_at=counted.isoformat(), before={"counted_at": dispute.counted_at.isoformat()},
    )  # fmt: skip
    events.emit(
        tx, "usage.settled", dispute.allocation_id, tenant_id=dispute.tenant_id,
        dispute=dispute.id, edge=dispute.edge, counted_at=counted.isoformat(), reason=reason,
    )  # fmt: skip
    return settled


def _refuse_impossible(dispute: Dispute, at: datetime) -> None:
    if not dispute.earliest_at <= at <= dispute.latest_at:
        raise Conflict(
            f"the {dispute.edge} of this usage was between {dispute.earliest_at.isoformat()} and "
            f"{dispute.latest_at.isoformat()}; it cannot be {at.isoformat()}",
            code="time_impossible",
            suggestion="give a time between these two, or none to keep what counts now",
        )


async def _permitted(tx: Tx, actor: Actor, id: str, action: str) -> Dispute:
    dispute = await store.get(tx, id)
    if dispute is None:
        raise NotFound("dispute", id)
    authorize(actor, action, resource(dispute))
    return dispute


async def unsettled(tx: Tx) -> list[AllocationId]:
    """Leases of which a time is disputed."""
    return await store.unsettled(tx)


async def forget(tx: Tx, leases: Sequence[AllocationId]) -> None:
    """With leases that go: how each was settled is in the audit log."""
    await store.forget(tx, leases)
