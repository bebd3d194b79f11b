"""Leases, their states, and what they cost."""

from collections.abc import Mapping
from typing import Literal, NotRequired, TypedDict

from penstock_client.views.catalog import Shape


class State(TypedDict):
    """One of the four states of an allocation, with its age."""

    state: str
    at: str | None
    age_s: float | None
    reason: NotRequired[str | None]
    step: NotRequired[str | None]
    workflow: NotRequired[str | None]
    detail: NotRequired[str | None]


class States(TypedDict):
    desired: State
    observed: State
    execution: State
    projected: State


class Estimate(TypedDict):
    """When an allocation that waits may be placed; `at` is None if nobody knows."""

    position: int
    at: str | None
    waiting_for: Literal["leases", "turn", "quota", "balance", "capacity"]
    leases: list[str]
    leases_of_others: int


class Member(TypedDict):
    """One node of a lease of several: an allocation of its own."""

    id: str
    node: str | None
    slots: list[str]
    status: str
    reason: str
    desired: str
    observed: str
    execution: str


class Allocation(TypedDict):
    id: str
    tenant: str
    project: str
    sku: str
    shape: Shape
    family: str
    gpus: int  # of each node
    nodes: int
    gang: str | None  # the lease that it belongs to, if that is one of several nodes
    site: str | None  # none until it is placed
    node: str | None
    slots: list[str]
    members: list[Member]  # of a gang
    status: str
    desired: str
    observed: str
    execution: str
    states: States
    price_micros_per_gpu_hour: int
    currency: str
    created_at: str
    correlation_id: str
    reason: str | None
    priority: int
    queued_at: str | None
    expires_at: str | None
    placed_at: str | None
    ends_at: str | None
    estimate: Estimate | None


class Replay(TypedDict):
    """What deciding a placement again leads to; `receipt` is None if it would be refused."""

    same: bool
    differences: list[str]
    receipt: Mapping[str, object] | None


class Dispute(TypedDict):
    """A time that a site reported and that cannot be; `counted_at` counts instead."""

    id: str
    allocation: str
    tenant: str
    project: str
    site: str
    edge: Literal["begin", "end"]
    reported_at: str | None
    earliest_at: str
    latest_at: str
    counted_at: str
    reason: str
    opened_at: str
    settled_at: str | None
    settled_by: str
    settled_reason: str


# `from` is a keyword, so this one cannot be written as a class.
Usage = TypedDict(
    "Usage",
    {
        "allocation": str,
        "project": str,
        "sku": str,
        "gpus": int,
        "from": str,
        "to": str | None,
        "seconds": float,
        "price_micros_per_gpu_hour": int,
        "cost_micros": int,
        "currency": str,
    },
)
