"""A tenant: who leases. Its life, from being made to being gone. Pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from penstock_contracts.ids import TenantId


class Status(StrEnum):
    ONBOARDING = "onboarding"  # being made; only the system changes anything in it
    ACTIVE = "active"
    SUSPENDED = "suspended"  # leases nothing new; what it has goes on
    OFFBOARDING = "offboarding"  # all its leases are being released
    OFFBOARDED = "offboarded"  # every cleanup is proven; only its name and its past are left


HERE: Final = frozenset({Status.ONBOARDING, Status.ACTIVE, Status.SUSPENDED})

# A tenant whose onboarding is undone is no more: that needs no status.
TRANSITIONS: Final = {
    Status.ONBOARDING: {Status.ACTIVE},
    Status.ACTIVE: {Status.SUSPENDED, Status.OFFBOARDING},
    Status.SUSPENDED: {Status.ACTIVE, Status.OFFBOARDING},
    Status.OFFBOARDING: {Status.OFFBOARDED},
    Status.OFFBOARDED: set[Status](),
}


@dataclass(frozen=True)
class Tenant:
    id: TenantId
    name: str
    created_at: datetime
    status: Status = Status.ACTIVE
    status_reason: str = ""
    status_at: datetime | None = None  # None: since it was made

    def may_become(self, status: Status) -> bool:
        return status in TRANSITIONS[self.status]
