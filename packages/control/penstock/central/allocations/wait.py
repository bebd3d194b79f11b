"""How a lease waits for room. Pure: no I/O, no clock, no randomness."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from penstock.central.policies.model import Terms
from penstock.placement.model import WaitsFor
from penstock_contracts.ids import AllocationId, SiteId, TenantId

PRIORITY_DEFAULT: Final = 50  # more needs a permission


@dataclass(frozen=True)
class WaitedFor:
    """A lease whose end is waited for. Only its own tenant is told which one it is."""

    allocation_id: AllocationId
    tenant_id: TenantId


@dataclass(frozen=True)
class Estimate:
    """Of when it will be placed, by the last round. `at` is None if nobody knows."""

    position: int
    at: datetime | None
    waits_for: WaitsFor
    leases: tuple[WaitedFor, ...] = ()


REASONS: Final = {
    WaitsFor.LEASES: "waits for leases to end",
    WaitsFor.TURN: "waits for its turn",
    WaitsFor.QUOTA: "waits for quota: its tenant holds as much as it may",
    WaitsFor.BALANCE: "waits for money: its tenant's balance does not cover it",
    WaitsFor.CAPACITY: "waits for capacity: no lease's end alone would make room",
}


@dataclass(frozen=True)
class Wait:
    """How it waits, or waited, and what it asked for. `queued_at` is None if it never did."""

    priority: int = PRIORITY_DEFAULT
    asked_site_id: SiteId | None = None
    terms: Terms = field(default_factory=Terms)
    queued_at: datetime | None = None
    expires_at: datetime | None = None
    expired_at: datetime | None = None
    ends_at: datetime | None = None  # released then, or waits no longer
    kept_nodes: tuple[str, ...] = ()
    estimate: Estimate | None = None

    @property
    def until_its_end(self) -> bool:
        """Whether it is its end, and nothing before, that ends the wait."""
        return self.ends_at is not None and self.expires_at == self.ends_at
