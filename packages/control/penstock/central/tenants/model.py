"""A tenant: who leases."""

from dataclasses import dataclass
from datetime import datetime

from penstock_contracts.ids import TenantId


@dataclass(frozen=True)
class Tenant:
    id: TenantId
    name: str
    created_at: datetime
