"""A binding: a role that someone has at a place, perhaps under conditions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from penstock_contracts.ids import BindingId, OrganizationId, TenantId

SubjectKind = Literal["user", "group", "service_account", "key", "client"]
Conditions = Mapping[str, Sequence[object]]


@dataclass(frozen=True)
class Subject:
    kind: SubjectKind
    id: str
    tenant_id: TenantId | None


@dataclass(frozen=True)
class Binding:
    """No tenant: the platform's. `organization_id` is that of an organization or a project."""

    id: BindingId
    tenant_id: TenantId | None
    subject: SubjectKind
    subject_id: str
    role: str
    scope: str
    scope_id: str
    conditions: Conditions
    created_by: str
    created_at: datetime
    organization_id: OrganizationId | None = None
