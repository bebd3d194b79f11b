"""Allocations as the API shows them."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

import orjson

from penstock.central.allocations.model import Allocation, Status
from penstock.kernel.actor import Actor
from penstock.kernel.web import View
from penstock.placement.model import WaitsFor


class State(View):
    """One of the four states, with its age."""

    state: str
    at: datetime | None
    age_s: float | None
    reason: str = ""
    revision: int | None = None
    workflow: str = ""
    step: str = ""
    detail: str = ""


class States(View):
    desired: State
    observed: State
    execution: State
    projected: State


class EstimateView(View):
    """When a lease that waits may be placed. `at` is null if nobody knows.

    `waiting_for`: `leases` to end, its `turn`, its tenant's `quota` or `balance`, or
    `capacity`. Of the leases whose end would make room, those of other tenants are only counted.
    """

    position: int
    at: datetime | None
    waiting_for: WaitsFor
    leases: list[str]
    leases_of_others: int


class AllocationView(View):
    id: str
    tenant: str
    project: str
    sku: str
    sku_id: str
    shape: str
    family: str
    gpus: int
    site: str | None
    node: str | None
    slots: list[str]
    status: str
    reason: str
    desired: str
    observed: str
    execution: str
    states: States
    price_micros_per_gpu_hour: int
    currency: str
    created_at: datetime
    created_by: str
    correlation_id: str
    priority: int
    queued_at: datetime | None
    expires_at: datetime | None
    placed_at: datetime | None
    ends_at: datetime | None
    estimate: EstimateView | None

    @classmethod
    def of(cls, a: Allocation, now: datetime, reader: Actor) -> "AllocationView":
        return cls(
            id=a.id,
            tenant=a.tenant_id,
            project=a.project_id,
            sku=a.sku_name,
            sku_id=a.sku_id,
            shape=a.shape,
            family=a.family,
            gpus=a.gpus,
            site=a.site_id,
            node=a.node_id,
            slots=list(a.slot_ids),
            status=a.status,
            reason=a.reason,
            desired=a.desired,
            observed=a.observed,
            execution=a.execution.state,
            states=states(a, now),
            price_micros_per_gpu_hour=a.price_micros_per_gpu_hour,
            currency=a.currency,
            created_at=a.created_at,
            created_by=a.created_by,
            correlation_id=a.correlation_id,
            priority=a.wait.priority,
            queued_at=a.wait.queued_at,
            expires_at=a.wait.expires_at,
            placed_at=a.placed_at,
            ends_at=a.wait.ends_at,
            estimate=_estimate(a, reader),
        )


def as_json(a: Allocation, now: datetime, reader: Actor) -> bytes:
    """The same as `AllocationView.of`, written at once: for the route that must cost little."""
    age_s, newest = partial(_age_s, now), _newest(a)
    estimate = _estimate(a, reader)
    return orjson.dumps(
        {
            "id": a.id, "tenant": a.tenant_id, "project": a.project_id, "sku": a.sku_name,
            "sku_id": a.sku_id, "shape": a.shape, "family": a.family, "gpus": a.gpus,
            "site": a.site_id, "node": a.node_id, "slots": a.slot_ids, "status": a.status,
            "reason": a.reason, "desired": a.desired, "observed": a.observed,
            "execution": a.execution.state,
            "states": {
                "desired": _state(a.desired, a.desired_at, age_s, revision=a.revision),
                "observed": _state(a.observed, a.observed_at, age_s, reason=a.observed_reason),
                "execution": _state(
                    a.execution.state, a.execution.at, age_s, workflow=a.execution.workflow,
                    step=a.execution.step, detail=a.execution.detail,
                ),
                "projected": _state(a.status, newest, age_s, reason=a.reason),
            },
            "price_micros_per_gpu_hour": a.price_micros_per_gpu_hour, "currency": a.currency,
            "created_at": a.created_at, "created_by": a.created_by,
            "correlation_id": a.correlation_id, "priority": a.wait.priority,
            "queued_at": a.wait.queued_at, "expires_at": a.wait.expires_at,
            "placed_at": a.placed_at, "ends_at": a.wait.ends_at,
            "estimate": estimate.model_dump() if estimate else None,
        },
        option=orjson.OPT_UTC_Z,
    )  # fmt: skip


def _state(
    state: str,
    at: datetime | None,
    age_s: Callable[[datetime | None], float | None],
    *,
    reason: str = "",
    revision: int | None = None,
    workflow: str = "",
    step: str = "",
    detail: str = "",
) -> dict[str, object]:
    return {
        "state": state, "at": at, "age_s": age_s(at), "reason": reason, "revision": revision,
        "workflow": workflow, "step": step, "detail": detail,
    }  # fmt: skip


def _age_s(now: datetime, at: datetime | None) -> float | None:
    return None if at is None else max(0.0, (now - at).total_seconds())


def _newest(a: Allocation) -> datetime:
    known = [at for at in (a.desired_at, a.observed_at, a.execution.at) if at is not None]
    return max(known)


def states(a: Allocation, now: datetime) -> States:
    age_s, newest = partial(_age_s, now), _newest(a)
    return States(
        desired=State(
            state=a.desired, at=a.desired_at, age_s=age_s(a.desired_at), revision=a.revision
        ),
        observed=State(
            state=a.observed,
            at=a.observed_at,
            age_s=age_s(a.observed_at),
            reason=a.observed_reason,
        ),
        execution=State(
            state=a.execution.state,
            at=a.execution.at,
            age_s=age_s(a.execution.at),
            workflow=a.execution.workflow,
            step=a.execution.step,
            detail=a.execution.detail,
        ),
        projected=State(state=a.status, at=newest, age_s=age_s(newest), reason=a.reason),
    )


def _estimate(a: Allocation, reader: Actor) -> EstimateView | None:
    estimate = a.wait.estimate
    if estimate is None or a.status is not Status.QUEUED:
        return None
    seen = [
        each.allocation_id for each in estimate.leases if reader.tenant_id in (None, each.tenant_id)
    ]
    return EstimateView(
        position=estimate.position,
        at=estimate.at,
        waiting_for=estimate.waits_for,
        leases=list(seen),
        leases_of_others=len(estimate.leases) - len(seen),
    )
