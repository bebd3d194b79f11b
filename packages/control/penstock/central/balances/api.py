"""Balances over HTTP."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from penstock.central.balances import service
from penstock.central.balances.model import Balance, Credit
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View
from penstock.kernel.names import Currency, Text

router = APIRouter(prefix="/v1/tenants", tags=["balances"], route_class=TxRoute)


class NewCredit(Body):
    amount_micros: Annotated[int, Field(ge=1, le=10**15)]
    currency: Currency
    reason: Annotated[Text, Field(min_length=1)]


class BalanceView(View):
    """All null for a tenant that pays afterwards."""

    tenant: str
    prepaid: bool
    currency: str | None = None
    balance_micros: int | None = None
    accrued_micros: int | None = None
    available_micros: int | None = None
    burn_micros_per_hour: int | None = None

    @classmethod
    def of(cls, tenant: str, balance: Balance | None) -> "BalanceView":
        if balance is None:
            return cls(tenant=tenant, prepaid=False)
        return cls(
            tenant=balance.tenant_id,
            prepaid=True,
            currency=balance.currency,
            balance_micros=balance.balance_micros,
            accrued_micros=balance.accrued_micros,
            available_micros=balance.available_micros,
            burn_micros_per_hour=balance.burn_micros_per_hour,
        )


class CreditView(View):
    id: str
    tenant: str
    amount_micros: int
    currency: str
    reason: str
    created_at: datetime

    @classmethod
    def of(cls, credit: Credit) -> "CreditView":
        return cls(
            id=credit.id,
            tenant=credit.tenant_id,
            amount_micros=credit.amount_micros,
            currency=credit.currency,
            reason=credit.reason,
            created_at=credit.created_at,
        )


@router.get("/{id}/balance")
async def get_balance(id: str, actor: Caller, tx: Tx) -> BalanceView:
    """What a prepaid tenant has left: its balance after all ended usage, what running usage
    has cost so far, and what all its leases cost per hour."""
    return BalanceView.of(id, await service.get(tx, actor, id))


@router.post("/{id}/credits", status_code=201)
async def create_credit(id: str, body: NewCredit, actor: Caller, tx: Tx) -> CreditView:
    """Add money to a tenant's balance. The first credit makes it prepaid: from then on a lease
    is placed only if an hour of all its leases is covered."""
    credit = await service.credit(
        tx,
        actor,
        id,
        amount_micros=body.amount_micros,
        currency=body.currency,
        reason=body.reason,
    )
    return CreditView.of(credit)
