"""A group: users and service accounts that are given roles together."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from penstock_contracts.ids import GroupId, TenantId

MemberKind = Literal["user", "service_account"]


@dataclass(frozen=True)
class Group:
    """No tenant: the platform's."""

    id: GroupId
    tenant_id: TenantId | None
    name: str
    created_at: datetime


@dataclass(frozen=True)
class Member:
    id: str
    kind: MemberKind
    name: str
    added_at: datetime
