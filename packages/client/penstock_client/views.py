"""The API's answers, as it gives them. Fields the server adds later are left in place."""

from collections.abc import Mapping
from typing import Generic, Literal, NotRequired, TypedDict, TypeVar

T = TypeVar("T")
Role = Literal["admin", "member", "viewer"]
Scope = Literal["read", "use", "administer"]
Shape = Literal["baremetal", "gpu_slice"]


class Page(TypedDict, Generic[T]):
    items: list[T]
    next: str | None


class Tenant(TypedDict):
    id: str
    name: str
    status: str
    gpu_limit: int | None
    created_at: str


class Key(TypedDict):
    id: str
    name: str
    role: Role
    token: str  # shown once; the API keeps only its hash


class Project(TypedDict):
    id: str
    tenant: str
    name: str
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


class User(TypedDict):
    id: str
    tenant: str
    email: str
    name: str
    role: Role
    second_factor: bool
    status: str
    created_at: str


class Invitation(TypedDict):
    id: str
    tenant: str
    email: str
    role: Role
    url: str  # shown once; whoever opens it becomes the user
    expires_at: str


class SignedIn(TypedDict):
    """A session: a browser, or a client that someone let in."""

    id: str
    tenant: str
    user: str
    kind: str
    client: str | None
    scope: str
    factors: list[str]
    agent: str
    created_at: str
    seen_at: str
    expires_at: str


class StoredKey(TypedDict):
    """A key as it is listed: without its token."""

    id: str
    tenant: str | None
    user: str | None
    name: str
    role: str
    scopes: list[str] | None
    created_at: str
    expires_at: str | None
    revoked_at: str | None


class PersonalKey(TypedDict):
    id: str
    name: str
    role: str
    scopes: list[str]
    expires_at: str
    token: str  # shown once; the API keeps only its hash


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
