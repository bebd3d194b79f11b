"""Allocations as the API shows them."""

from datetime import datetime
from typing import Final

import orjson

from penstock.central.allocations.gangs import Lease
from penstock.central.allocations.model import Allocation, Status
from penstock.kernel.actor import Actor
from penstock.kernel.http.web import View
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


NOTHING_BESIDES: Final = State(state="", at=None, age_s=None).model_dump(
    exclude={"state", "at", "age_s"}
)


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


class GangMemberView(View):
    """One node of a lease of several: an allocation of its own, with its own states."""

    id: str
    node: str | None
    slots: list[str]
    status: str
    reason: str
    desired: str
    observed: str
    execution: str


class AllocationView(View):
    """A lease. One of several nodes (`nodes`) is a gang: its `members` are placed, released and
    fail together. Its states are those of the member that its `status` is of; `node` and `slots`
    are those of the first, whose id it has. `gang` is the lease that a member belongs to."""

    id: str
    tenant: str
    project: str
    sku: str
    sku_id: str
    shape: str
    family: str
    gpus: int  # of each node
    nodes: int
    gang: str | None
    site: str | None
    node: str | None
    slots: list[str]
    members: list[GangMemberView]
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
    def of(cls, lease: Lease, now: datetime, reader: Actor) -> "AllocationView":
        return cls.model_validate(_facts(lease, now, reader))


def as_json(lease: Lease, now: datetime, reader: Actor) -> bytes:
    """What `AllocationView.of` says, written at once: for the route that must cost little."""
    return orjson.dumps(_facts(lease, now, reader), option=orjson.OPT_UTC_Z)


def _facts(lease: Lease, now: datetime, reader: Actor) -> dict[str, object]:
    """The fields of an AllocationView, in its order."""
    a = lease.allocation
    estimate = _estimate(a, reader)
    return {
        "id": a.id,
        "tenant": a.tenant_id,
        "project": a.project_id,
        "sku": a.sku_name,
        "sku_id": a.sku_id,
        "shape": a.shape,
        "family": a.family,
        "gpus": a.gpus,
        "nodes": a.nodes,
        "gang": a.gang_id,
        "site": a.site_id,
        "node": a.node_id,
        "slots": a.slot_ids,
        "members": [_member(member) for member in lease.members] if lease.members else (),
        "status": a.status,
        "reason": a.reason,
        "desired": a.desired,
        "observed": a.observed,
        "execution": a.execution.state,
        "states": _states(a, now),
        "price_micros_per_gpu_hour": a.price_micros_per_gpu_hour,
        "currency": a.currency,
        "created_at": a.created_at,
        "created_by": a.created_by,
        "correlation_id": a.correlation_id,
        "priority": a.wait.priority,
        "queued_at": a.wait.queued_at,
        "expires_at": a.wait.expires_at,
        "placed_at": a.placed_at,
        "ends_at": a.wait.ends_at,
        "estimate": estimate.model_dump() if estimate else None,
    }


def _member(a: Allocation) -> dict[str, object]:
    """The fields of a GangMemberView."""
    return {
        "id": a.id,
        "node": a.node_id,
        "slots": a.slot_ids,
        "status": a.status,
        "reason": a.reason,
        "desired": a.desired,
        "observed": a.observed,
        "execution": a.execution.state,
    }


def _states(a: Allocation, now: datetime) -> dict[str, dict[str, object]]:
    def state(state: str, at: datetime | None, **besides: object) -> dict[str, object]:
        age_s = None if at is None else max(0.0, (now - at).total_seconds())
        return {"state": state, "at": at, "age_s": age_s, **NOTHING_BESIDES, **besides}

    does = a.execution
    newest = max(at for at in (a.desired_at, a.observed_at, does.at) if at is not None)
    return {
        "desired": state(a.desired, a.desired_at, revision=a.revision),
        "observed": state(a.observed, a.observed_at, reason=a.observed_reason),
        "execution": state(
            does.state, does.at, workflow=does.workflow, step=does.step, detail=does.detail
        ),
        "projected": state(a.status, newest, reason=a.reason),
    }


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
