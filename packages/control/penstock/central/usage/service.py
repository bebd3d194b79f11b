"""Metering: segments of use, from observed transitions. Exact to the microsecond."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from penstock.central.access.authorization import authorize_list
from penstock.central.balances import service as balances
from penstock.central.usage import store
from penstock.central.usage.model import Segment
from penstock.kernel import events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock_contracts.ids import AllocationId, TenantId

HOUR_US: Final = 3_600_000_000
MOMENT: Final = timedelta(microseconds=1)  # the least that usage lasts


def duration_us(segment: Segment, now: datetime) -> int:
    return max(0, ((segment.to or now) - segment.since) // timedelta(microseconds=1))


def cost_micros(segment: Segment, now: datetime) -> int:
    """GPU-time times price, in whole micro-units, rounded down."""
    time_us = duration_us(segment, now) * segment.gpus
    return time_us * segment.price_micros_per_gpu_hour // HOUR_US


async def begin(tx: Tx, begun: Segment) -> None:
    await store.add(tx, begun)
    id, tenant_id, at = begun.allocation_id, begun.tenant_id, begun.since.isoformat()
    events.emit(tx, "usage.begun", id, tenant_id=tenant_id, at=at)


async def end(tx: Tx, id: AllocationId, tenant_id: TenantId, at: datetime) -> None:
    """Close its segment, and take what it cost from the tenant's balance, if it has one."""
    closed = await store.close(tx, id, at)
    if closed is not None:
        cost = cost_micros(closed, tx.now)
        if await balances.debit(tx, id, cost, closed.currency):
            await store.mark_debited(tx, closed, cost)
    events.emit(tx, "usage.ended", id, tenant_id=tenant_id, at=at.isoformat())


async def correct(
    tx: Tx, id: AllocationId, *, since: datetime | None = None, to: datetime | None = None
) -> None:
    """Move the beginning or the end of an allocation's usage, and take or return what differs."""
    before = await store.of(tx, id)
    after = replace(before, since=since or before.since)
    if to is not None:
        after = replace(after, to=max(to, after.since + MOMENT))
    if after.to is not None and after.to <= after.since:
        raise Conflict(
            f"usage of {id} ended at {after.to.isoformat()}; it cannot begin at "
            f"{after.since.isoformat()}",
            code="time_impossible",
            suggestion="give a time before its end, or settle its end first",
        )
    debited = await store.move(tx, after)
    if debited is not None:
        cost = cost_micros(after, tx.now)
        await balances.adjust(tx, id, cost - debited)
        await store.mark_debited(tx, after, cost)


async def page(
    tx: Tx, actor: Actor, *, allocation: str | None, project: str | None, after: str, limit: int
) -> list[Segment]:
    reach = authorize_list(actor, "usage")
    return await store.page(
        tx, reach, allocation=allocation, project=project, after=after, limit=limit
    )
