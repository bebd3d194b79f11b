"""A project: what a tenant's allocations and costs are grouped by. It is an organization's."""

from dataclasses import dataclass
from datetime import datetime

from penstock_contracts.ids import OrganizationId, ProjectId, TenantId


@dataclass(frozen=True)
class Project:
    id: ProjectId
    tenant_id: TenantId
    organization_id: OrganizationId
    name: str
    created_at: datetime
