"""What may be done to a balance. The caller owns the transaction."""

from penstock.central import fleet
from penstock.central.access.authorization import Resource, authorize
from penstock.central.balances import store
from penstock.central.balances.model import Balance, Credit
from penstock.central.tenants import service as tenants
from penstock.kernel import audit, events, wakeups
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock.kernel.questions import ask
from penstock_contracts.ids import AllocationId, CreditId, TenantId


async def get(tx: Tx, actor: Actor, tenant: str) -> Balance | None:
    """None: the tenant pays afterwards."""
    id = (await tenants.get(tx, actor, tenant)).id
    authorize(actor, "balance.view", Resource("tenant", id, id))
    found = await ask(tx, store.balances(tx, [id]))
    return found[0] if found else None


async def credit(
    tx: Tx, actor: Actor, tenant: str, *, amount_micros: int, currency: str, reason: str
) -> Credit:
    """Add money. The first credit makes the tenant prepaid: from then on its leases are gated."""
    owner = await tenants.get(tx, actor, tenant)
    authorize(actor, "balance.credit", tenants.resource(owner))
    id = owner.id
    await fleet.lock(tx)  # so that no lease in another currency is placed meanwhile
    await _refuse_other_currency(tx, id, currency)
    added = Credit(CreditId.new(), id, amount_micros, currency, reason, actor.name, tx.now)
    await store.add_credit(tx, added)
    audit.record(
        tx, actor, "balance.credit", added.id, tenant_id=id, reason=reason,
        amount_micros=amount_micros, currency=currency,
    )  # fmt: skip
    events.emit(
        tx, "balance.credited", id, tenant_id=id,
        credit=added.id, amount_micros=amount_micros, currency=currency,
    )  # fmt: skip
    wakeups.notify(tx, fleet.ROOM)  # what could not be paid for may be affordable now
    return added


async def debit(tx: Tx, id: AllocationId, micros: int, currency: str) -> bool:
    """Take the cost of an allocation's ended usage; False if its tenant pays afterwards."""
    return await store.debit(tx, id, micros, currency)


async def adjust(tx: Tx, id: AllocationId, micros: int) -> None:
    """Take more for an allocation whose usage was corrected; or less, if it is negative."""
    await store.adjust(tx, id, micros)


async def _refuse_other_currency(tx: Tx, id: TenantId, currency: str) -> None:
    found = await ask(tx, store.balances(tx, [id]))
    own = {balance.currency for balance in found} or await store.currencies_held(tx, id)
    if own - {currency}:
        raise Conflict(
            f"tenant {id} pays in {', '.join(sorted(own))}; it cannot be credited in {currency}",
            code="currency_mismatch",
            suggestion="credit it in its own currency"
            if found
            else "credit it in the currency of its leases, or release those first",
        )
