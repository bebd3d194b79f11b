"""The balance of a tenant that pays beforehand."""

from dataclasses import dataclass
from datetime import datetime

from penstock_contracts.ids import CreditId, TenantId


@dataclass(frozen=True)
class Credit:
    """Money that was added."""

    id: CreditId
    tenant_id: TenantId
    amount_micros: int
    currency: str
    reason: str
    created_by: str
    created_at: datetime


@dataclass(frozen=True)
class Balance:
    """What is left, and what is being spent. `balance_micros` is after all ended usage."""

    tenant_id: TenantId
    currency: str
    balance_micros: int
    accrued_micros: int  # cost so far of usage that has not ended
    burn_micros_per_hour: int  # of all live leases, those that are not active yet included

    @property
    def available_micros(self) -> int:
        return self.balance_micros - self.accrued_micros


def amount(micros: int) -> str:
    """Exact, with at least two decimals: 12.50, -0.000001."""
    whole, fraction = divmod(abs(micros), 1_000_000)
    digits = f"{fraction:06d}".rstrip("0").ljust(2, "0")
    return f"{'-' if micros < 0 else ''}{whole}.{digits}"
