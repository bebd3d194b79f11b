"""What happens to an OAuth client."""

from typing import Final

from penstock.kernel.catalogue import TEXT, Audience, EventType
from penstock_contracts.ids import ClientId

EVENTS: Final = (
    EventType(
        "client.created",
        "Another program may ask the realm for tokens.",
        Audience.TENANT,
        ClientId,
        {"name": TEXT},
    ),
    EventType(
        "client.disabled",
        "The program gets no more tokens, and its sessions are over.",
        Audience.TENANT,
        ClientId,
    ),
)
