"""A tenant: who leases, and how much it may hold at once."""

from dataclasses import dataclass
from datetime import datetime

from penstock_contracts.ids import TenantId


@dataclass(frozen=True)
class Tenant:
    id: TenantId
    name: str
    gpu_limit: int | None
    created_at: datetime
