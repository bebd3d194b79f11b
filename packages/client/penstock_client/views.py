"""The API's answers, as it gives them. Fields the server adds later are left in place."""

from collections.abc import Mapping
from typing import Generic, Literal, NotRequired, TypedDict, TypeVar

T = TypeVar("T")
Role = Literal["admin", "member", "viewer"]
Shape = Literal["baremetal", "gpu_slice"]


class Page(TypedDict, Generic[T]):
    items: list[T]
    next: str | None


class Tenant(TypedDict):
    id: str
    name: str
    status: str
    created_at: str


class Key(TypedDict):
    id: str
    name: str
    role: Role
    token: str  # shown once; the API keeps only its hash


class Organization(TypedDict):
    id: str
    tenant: str
    name: str
    created_at: str


class Project(TypedDict):
    id: str
    tenant: str
    organization: str
    name: str
    created_at: str


class Quota(TypedDict):
    """What a scope holds and may hold; `family` is None for the total."""

    scope: Literal["tenant", "organization", "project"]
    scope_id: str
    family: str | None
    gpus_max: int | None
    gpus_used: int


class Balance(TypedDict):
    """All None for a tenant that pays afterwards."""

    tenant: str
    prepaid: bool
    currency: str | None
    balance_micros: int | None
    accrued_micros: int | None
    available_micros: int | None
    burn_micros_per_hour: int | None


class Credit(TypedDict):
    id: str
    tenant: str
    amount_micros: int
    currency: str
    reason: str
    created_at: str


class Sku(TypedDict):
    id: str
    name: str
    shape: Shape
    family: str
    gpu_counts: list[int]
    price_micros_per_gpu_hour: int
    currency: str


class Site(TypedDict):
    id: str
    name: str
    status: str
    auto_approve: bool
    connected: bool
    connected_at: str | None
    version: str
    join_address: str
    created_at: str


class JoinToken(TypedDict):
    id: NotRequired[str]
    token: str
    expires_at: str


class Node(TypedDict):
    id: str
    name: str
    site: str
    hardware: str
    family: str
    gpus: int
    gpus_free: int
    posture: str
    posture_reason: str | None
    draining: bool
    connected: bool
    connected_at: str | None


class Slot(TypedDict):
    id: str
    node: str
    kind: Literal["chassis", "gpu"]
    index: int
    gpu_uuid: str | None
    nvme_serial: str | None
    fabric_guid: str | None
    numa_node: int
    cpus: int
    memory_mib: int
    state: str
    allocation: str | None
    fence: int
    reason: str | None
    cleanup_steps: list[str]


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


class Allocation(TypedDict):
    id: str
    tenant: str
    project: str
    sku: str
    shape: Shape
    family: str
    gpus: int
    site: str
    node: str
    slots: list[str]
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


class Invariant(TypedDict):
    name: str
    violations: int


class Me(TypedDict):
    kind: str
    id: str
    role: str
    tenant: str | None


class Event(TypedDict):
    """A CloudEvents envelope. `sequence` is its place in the one ordered log."""

    specversion: str
    id: str
    source: str
    type: str
    subject: str
    time: str
    tenantid: str | None
    correlationid: str
    sequence: int | str
    data: Mapping[str, object]
