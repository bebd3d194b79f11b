"""A project: what a tenant's allocations and costs are grouped by."""

from dataclasses import dataclass
from datetime import datetime

from penstock_contracts.ids import ProjectId, TenantId


@dataclass(frozen=True)
class Project:
    id: ProjectId
    tenant_id: TenantId
    name: str
    created_at: datetime
