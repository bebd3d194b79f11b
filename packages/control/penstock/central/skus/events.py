"""What happens to a SKU."""

from typing import Final

from penstock.kernel.catalogue import TEXT, Audience, EventType
from penstock_contracts.ids import SkuId

EVENTS: Final = (
    EventType("sku.created", "The SKU can be leased.", Audience.PLATFORM, SkuId, {"name": TEXT}),
)
