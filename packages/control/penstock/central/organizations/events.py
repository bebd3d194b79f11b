"""What happens to an organization."""

from typing import Final

from penstock.kernel.catalogue import TEXT, Audience, EventType
from penstock_contracts.ids import OrganizationId

EVENTS: Final = (
    EventType(
        "organization.created",
        "The tenant has another organization.",
        Audience.TENANT,
        OrganizationId,
        {"name": TEXT},
    ),
)
