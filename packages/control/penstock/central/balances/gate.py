"""Whether prepaid tenants can pay for what a batch wants, without asking the database again."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final

from penstock.central.balances import store
from penstock.central.balances.model import Balance, amount
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, PaymentRequired, Problem
from penstock.kernel.questions import Question
from penstock_contracts.ids import TenantId

HOURS_COVERED: Final = 1


@dataclass(frozen=True)
class Rate:
    """What a new lease will cost its tenant for every hour."""

    tenant_id: TenantId
    currency: str
    micros_per_hour: int


class Gate:
    """The balances of some tenants, as of one query. Those without one are never refused.

    A lease is let through if what is available covers an hour of it and of all live leases.
    Like the quotas' ledger it is loaded under the fleet's lock, and told of what is given.
    """

    def __init__(self, balances: Iterable[Balance]) -> None:
        self._balances = {balance.tenant_id: balance for balance in balances}

    @classmethod
    def of_tenants(cls, tx: Tx, tenants: Collection[TenantId]) -> Question[list[Balance]]:
        """What it is made of."""
        return store.balances(tx, sorted(tenants))

    def never(self, rate: Rate) -> bool:
        """Whether no money would help: the balance is in another currency."""
        balance = self._balances.get(rate.tenant_id)
        return balance is not None and balance.currency != rate.currency

    def refuse(self, rate: Rate) -> Problem | None:
        balance = self._balances.get(rate.tenant_id)
        if balance is None:
            return None
        if balance.currency != rate.currency:
            return _other_currency(balance, rate)
        needed = (balance.burn_micros_per_hour + rate.micros_per_hour) * HOURS_COVERED
        missing = needed - balance.available_micros
        return _too_low(balance, needed, missing) if missing > 0 else None

    def take(self, rate: Rate) -> None:
        if balance := self._balances.get(rate.tenant_id):
            burn = balance.burn_micros_per_hour + rate.micros_per_hour
            self._balances[rate.tenant_id] = replace(balance, burn_micros_per_hour=burn)


def _other_currency(balance: Balance, rate: Rate) -> Problem:
    return Conflict(
        f"the tenant's balance is in {balance.currency}; "
        f"a SKU priced in {rate.currency} cannot be paid from it",
        code="currency_mismatch",
        suggestion=f"choose a SKU priced in {balance.currency}",
        extras={"balance_currency": balance.currency, "sku_currency": rate.currency},
    )


def _too_low(balance: Balance, needed: int, missing: int) -> Problem:
    """402, not 409: no change of the request or of the fleet helps, only money does."""
    currency = balance.currency
    return PaymentRequired(
        f"{amount(balance.available_micros)} {currency} is available; with this lease an hour "
        f"of all leases costs {amount(needed)} {currency}, so {amount(missing)} is missing",
        code="balance_too_low",
        suggestion="have your tenant's balance topped up, or release a lease",
        extras={
            "available_micros": balance.available_micros,
            "needed_micros": needed,
            "missing_micros": missing,
            "currency": currency,
        },
    )
