"""Roles, those they are bound to, and why something is permitted."""

from typing import Literal, TypedDict

BoundRole = Literal[
    "platform_admin", "platform_auditor", "site_operator", "supplier", "admin", "org_admin",
    "project_admin", "member", "viewer", "finance",
]  # fmt: skip


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
