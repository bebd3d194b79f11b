"""A service account: a program, whose keys may be made and ended without it becoming another."""

from dataclasses import dataclass
from datetime import datetime

from penstock_contracts.ids import ServiceAccountId, TenantId


@dataclass(frozen=True)
class ServiceAccount:
    """No tenant: the platform's. A disabled one's keys are refused."""

    id: ServiceAccountId
    tenant_id: TenantId | None
    name: str
    created_at: datetime
    disabled_at: datetime | None = None
