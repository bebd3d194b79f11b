"""The API's answers, as it gives them. Fields the server adds later are left in place."""

from collections.abc import Mapping
from typing import Generic, Literal, NotRequired, TypedDict, TypeVar

T = TypeVar("T")
Role = Literal["admin", "member", "viewer", "finance", "none"]  # in a tenant as a whole
BoundRole = Literal[
    "platform_admin", "platform_auditor", "site_operator", "supplier", "admin", "org_admin",
    "project_admin", "member", "viewer", "finance",
]  # fmt: skip
Scope = Literal["read", "use", "administer"]
Shape = Literal["baremetal", "gpu_slice"]
Strategy = Literal["pack", "spread"]
QuotaKind = Literal["gpus", "nodes", "vlans", "spend"]
PoolKind = Literal["vrf", "vlan", "vni", "pkey", "ipv4", "ipv6"]


class Page(TypedDict, Generic[T]):
    items: list[T]
    next: str | None


class Tenant(TypedDict):
    id: str
    name: str
    status: str
    status_reason: str
    status_at: str
    created_at: str


class Placement(TypedDict):
    """Where a tenant's leases may go. Null: anywhere, of any family, at any price."""

    tenant: str
    revision: int  # counts its changes
    sites: list[str] | None
    families: list[str] | None
    skus: list[str] | None
    images: list[str] | None
    residency: list[str]
    strategy: Strategy
    price_micros_max: int | None


class Limit(TypedDict):
    """One limit: all `_max` but one are None. `family` is None for GPUs of all families."""

    family: str | None
    gpus_max: int | None
    nodes_max: int | None
    vlans_max: int | None
    spend_micros_max: int | None
    currency: str | None


class Template(TypedDict):
    """What a tenant is given unless its file says otherwise. With a site, a source's own."""

    id: str
    name: str
    revision: int
    site: str | None
    sites: list[str] | None
    skus: list[str] | None
    images: list[str] | None
    families: list[str] | None
    residency: list[str]
    strategy: Strategy
    price_micros_max: int | None
    quotas: list[Limit]


class OnboardingStep(TypedDict):
    name: str
    status: str
    detail: str
    changed: bool
    at: str | None


class Onboarding(TypedDict):
    """Its steps are in order; `tenant` is None until the first one is done."""

    id: str
    name: str
    tenant: str | None
    admin: str
    status: str
    reason: str
    steps: list[OnboardingStep]
    created_by: str
    created_at: str
    finished_at: str | None


class Pool(TypedDict):
    """`left` says what can still be taken; `free` is None for prefixes."""

    id: str
    name: str
    kind: PoolKind
    site: str | None
    bounds: str
    assigned: int
    free: int | None
    left: str
    created_at: str


class Assignment(TypedDict):
    """Something of a pool that a tenant has; `site` is None where it holds everywhere."""

    id: str
    kind: PoolKind
    value: str
    site: str | None
    assigned_at: str


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
    """What a scope uses and may use; `limit` is None where nothing is limited.

    Of spend: micro-units of the currency, since the month began. `family` is None for GPUs of
    all families; `gpus_max` and `gpus_used` are `limit` and `used` of GPUs.
    """

    scope: Literal["tenant", "organization", "project"]
    scope_id: str
    kind: QuotaKind
    family: str | None
    currency: str | None
    limit: int | None
    used: int
    burn_micros_per_hour: int | None
    gpus_max: int | None
    gpus_used: int | None


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
    away: bool
    tags: list[str]
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
    leaf: str
    tags: list[str]
    site_tags: list[str]
    reserved_for: str | None
    price_micros_per_gpu_hour: int


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
    waiting_for: Literal["leases", "turn", "quota", "capacity"]
    leases: list[str]
    leases_of_others: int


class Allocation(TypedDict):
    id: str
    tenant: str
    project: str
    sku: str
    shape: Shape
    family: str
    gpus: int
    site: str | None  # none until it is placed
    node: str | None
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


class Size(TypedDict):
    gpus: int
    now: int
    after_defragmentation: int


class Availability(TypedDict):
    """What of a SKU could be leased at a site, if only that size were asked for."""

    sku: str
    sku_id: str
    shape: Shape
    family: str
    site: str
    site_name: str
    price_micros_per_gpu_hour: int
    currency: str
    sizes: list[Size]


class Move(TypedDict):
    allocation: str
    tenant: str
    gpus: int
    from_node: str
    from_name: str
    from_slots: list[str]
    to_node: str
    to_name: str
    to_slots: list[str]
    opens: str
    cost_gpu_minutes: int


class Gain(TypedDict):
    shape: Shape
    gpus: int
    before: int
    after: int


class DefragmentationPlan(TypedDict):
    """Moves that would open more of `shape` and `gpus`. Nothing carries it out."""

    family: str
    site: str
    site_name: str
    shape: Shape
    gpus: int
    opened: int
    cost_gpu_minutes: int
    disruption_gpu_minutes: int
    moves: list[Move]
    gains: list[Gain]


class Invariant(TypedDict):
    name: str
    violations: int
    found: NotRequired[list[Mapping[str, object]]]  # the first violations


class Need(TypedDict):
    role: str
    scope: str
    scope_id: str


class Me(TypedDict):
    kind: str
    id: str
    role: str
    tenant: str | None
    grants: list[Need]  # roles at places, besides the one at the top


class Hours(TypedDict):
    begin: int
    end: int


class Conditions(TypedDict, total=False):
    families: list[str] | None
    residency: list[str] | None
    hours: Hours | None
    weekdays: list[int] | None
    second_factor: bool


class Binding(TypedDict):
    id: str
    tenant: str | None
    subject: str
    subject_kind: str
    role: str
    scope: str
    scope_id: str
    conditions: Conditions
    created_by: str
    created_at: str


class Group(TypedDict):
    id: str
    tenant: str | None
    name: str
    created_at: str


class GroupMember(TypedDict):
    id: str
    kind: str
    name: str
    added_at: str


class GroupMembers(Group):
    members: list[GroupMember]


class ServiceAccount(TypedDict):
    id: str
    tenant: str | None
    name: str
    status: str
    created_at: str


class ServiceAccountKey(TypedDict):
    id: str
    name: str
    service_account: str
    token: str  # shown once; the API keeps only its hash


class Explanation(TypedDict):
    actor: str
    action: str
    resource: str
    allowed: bool
    policies: list[str]
    needed: list[Need]
    revision: str  # of the policies in force at the replica that answered


class User(TypedDict):
    id: str
    tenant: str
    email: str
    name: str
    role: Role
    second_factor: bool
    status: str
    created_at: str


class Realm(TypedDict):
    tenant: str
    suspended: bool


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


class AuditEntry(TypedDict):
    """Of a change, `before` in `detail` has what was there."""

    seq: int
    at: str
    tenant: str | None
    actor: str
    action: str
    subject: str
    reason: str
    detail: Mapping[str, object]
    correlation_id: str
    hash: str


class AuditPoint(TypedDict):
    seq: int
    hash: str


class AuditFault(TypedDict):
    seq: int
    fault: str


class AuditExport(TypedDict):
    seq: int
    hash: str
    at: str | None
    fault: str


class AuditVerification(TypedDict):
    after: int
    until: AuditPoint
    head: AuditPoint
    faults: list[AuditFault]
    export: AuditExport
    next: int | None
