"""What happens to a service account."""

from typing import Final

from penstock.kernel.catalogue import TEXT, Audience, EventType
from penstock_contracts.ids import ServiceAccountId

EVENTS: Final = (
    EventType(
        "service_account.created",
        "There is another service account; it may do nothing yet.",
        Audience.OWNER,
        ServiceAccountId,
        {"name": TEXT},
    ),
    EventType(
        "service_account.disabled",
        "The keys of the service account are refused.",
        Audience.OWNER,
        ServiceAccountId,
    ),
    EventType(
        "service_account.enabled",
        "The keys of the service account are good again.",
        Audience.OWNER,
        ServiceAccountId,
    ),
)
