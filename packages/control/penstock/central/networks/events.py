"""What happens to a tenant's networks."""

from typing import Final

from penstock.kernel.catalogue import INTEGER, TEXTS, Audience, EventType, id_of
from penstock_contracts.ids import SiteId, TenantId

EVENTS: Final = (
    EventType(
        "network.assigned",
        "The tenant was given network numbers or addresses.",
        Audience.TENANT,
        TenantId,
        {"site": id_of(SiteId).or_null, "given": TEXTS},
    ),
    EventType(
        "network.returned",
        "The tenant is gone, and its network numbers and addresses are free.",
        Audience.TENANT,
        TenantId,
        {"returned": INTEGER},
    ),
)
