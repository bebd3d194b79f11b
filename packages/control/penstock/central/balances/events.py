"""What happens to a tenant's prepaid money."""

from typing import Final

from penstock.kernel.catalogue import INTEGER, TEXT, Audience, EventType, id_of
from penstock_contracts.ids import CreditId, TenantId

EVENTS: Final = (
    EventType(
        "balance.credited",
        "The tenant has more prepaid money.",
        Audience.TENANT,
        TenantId,
        {"credit": id_of(CreditId), "amount_micros": INTEGER, "currency": TEXT},
    ),
)
