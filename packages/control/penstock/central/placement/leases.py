"""From what is wanted to the lease that stands for it: placed, or waiting."""

from dataclasses import replace
from datetime import timedelta
from typing import Final, cast

from penstock.central.allocations.model import Allocation, Desired, Execution, Observed
from penstock.central.allocations.wait import Wait
from penstock.central.placement.wants import Want
from penstock.kernel.db import Tx
from penstock.placement.model import Plan
from penstock_contracts.ids import NodeId, SiteId, SlotId

IDLE: Final = Execution()


def placed(tx: Tx, want: Want, plan: Plan) -> Allocation:
    """Of one that waited, the same lease; else a new one."""
    if want.waited is None:
        return _new(tx, want, _wait(want), plan)
    return replace(
        want.waited,
        site_id=SiteId(plan.site_id),
        node_id=NodeId(plan.node_id),
        placed_at=tx.now,
        slot_ids=_slots(plan),
        wait=replace(want.waited.wait, kept_nodes=(), estimate=None),
    )


def queued(tx: Tx, want: Want, place: int) -> Allocation:
    """`place` tells apart those that began to wait together: none has the same age. It waits no
    longer than until its end."""
    at = tx.now + timedelta(microseconds=place)
    wait = _wait(want)
    expires_at = at + timedelta(seconds=want.ask.queue_for_s)
    if wait.ends_at is not None:
        expires_at = min(expires_at, wait.ends_at)
    return _new(tx, want, replace(wait, queued_at=at, expires_at=expires_at), None)


def _wait(want: Want) -> Wait:
    return Wait(
        priority=want.ask.priority,
        asked_site_id=SiteId(want.request.site_id) if want.request.site_id else None,
        terms=want.ask.terms,
        ends_at=want.ask.ends_at,
    )


def _slots(plan: Plan) -> tuple[SlotId, ...]:
    return cast("tuple[SlotId, ...]", plan.slot_ids)


def _new(tx: Tx, want: Want, wait: Wait, plan: Plan | None) -> Allocation:
    return Allocation(
        id=want.ask.id,
        tenant_id=want.project.tenant_id,
        organization_id=want.project.organization_id,
        project_id=want.project.id,
        sku_id=want.sku.id,
        sku_name=want.sku.name,
        shape=want.sku.shape,
        family=want.sku.family,
        gpus=want.request.gpus,
        price_micros_per_gpu_hour=want.sku.price_micros_per_gpu_hour,
        currency=want.sku.currency,
        site_id=SiteId(plan.site_id) if plan else None,
        node_id=NodeId(plan.node_id) if plan else None,
        desired=Desired.ACTIVE,
        desired_at=tx.now,
        revision=1,
        observed=Observed.NOTHING,
        observed_at=None,
        observed_reason="",
        execution=IDLE,
        created_at=tx.now,
        created_by=want.ask.actor.name,
        correlation_id=want.ask.correlation_id,
        failed_reason="",
        freed_at=None,
        abandoned_at=None,
        slot_ids=_slots(plan) if plan else (),
        blocked_reason="",
        placed_at=tx.now if plan else None,
        wait=wait,
        gang_id=want.ask.id if want.ask.nodes > 1 else None,
        nodes=want.ask.nodes,
    )
