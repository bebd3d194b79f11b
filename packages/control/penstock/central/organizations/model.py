"""An organization: a part of a tenant, which its projects belong to."""

from dataclasses import dataclass
from datetime import datetime

from penstock_contracts.ids import OrganizationId, TenantId


@dataclass(frozen=True)
class Organization:
    id: OrganizationId
    tenant_id: TenantId
    name: str
    created_at: datetime
