"""What happens to a tenant's placement policy."""

from typing import Final

from penstock.kernel.catalogue import INTEGER, TEXTS, Audience, EventType, one_of
from penstock.placement.model import Strategy
from penstock_contracts.ids import TenantId

EVENTS: Final = (
    EventType(
        "policy.set",
        "What the tenant may lease, and where, was changed.",
        Audience.TENANT,
        TenantId,
        {
            "revision": INTEGER,
            "sites": TEXTS.or_null,
            "families": TEXTS.or_null,
            "skus": TEXTS.or_null,
            "images": TEXTS.or_null,
            "residency": TEXTS,
            "strategy": one_of(Strategy),
            "price_micros_max": INTEGER.or_null,
            "weight": INTEGER,
        },
    ),
)
