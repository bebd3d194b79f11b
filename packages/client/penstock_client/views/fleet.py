"""Sites, nodes and slots."""

from typing import Literal, NotRequired, TypedDict


class Site(TypedDict):
    id: str
    name: str
    status: str
    auto_approve: bool
    connected: bool
    connected_at: str | None
    away: bool
    tags: list[str]
    version: str
    join_address: str
    created_at: str


class JoinToken(TypedDict):
    id: NotRequired[str]
    token: str
    expires_at: str


class Problem(TypedDict):
    """A check of a node's host that does not pass."""

    check: str
    subject: str
    detail: str
    since: str


class Discrepancy(TypedDict):
    """What a node's host holds and what it should hold are not the same."""

    kind: Literal["not_held", "not_leased", "other_slots"]
    allocation: str
    runtime: str
    since: str


class NodeHealth(TypedDict):
    healthy: bool
    problems: list[Problem]
    problems_more: int
    discrepancies: list[Discrepancy]
    changed_at: str | None


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
    retiring_at: str | None
    retired_at: str | None
    replaces: str | None
    replaced_by: str | None
    leaf: str
    tags: list[str]
    site_tags: list[str]
    reserved_for: str | None
    price_micros_per_gpu_hour: int
    health: NodeHealth


class Part(TypedDict):
    """One kind of identities: which the node had and has, which are gone, which are new."""

    kind: Literal["gpu", "nvme", "fabric", "product"]
    same: list[str]
    gone: list[str]
    new: list[str]


class Reenrolment(TypedDict):
    id: str
    node: str
    node_name: str
    site: str
    status: Literal["waiting", "approved", "rejected"]
    key: str
    key_in_force: str
    parts: list[Part]
    differs: str
    requested_at: str
    decided_at: str | None
    decided_by: str
    decided_reason: str


class NodeChanges(TypedDict, total=False):
    """What policy goes by. What is left out stays as it is."""

    tags: list[str]
    reserved_for: str | None  # a tenant; null: for everyone
    price_micros_per_gpu_hour: int  # 0: not known
    leaf: str | None  # null: as discovered


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
