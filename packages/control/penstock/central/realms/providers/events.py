"""What happens to an identity provider of a realm."""

from typing import Final

from penstock.kernel.catalogue import TEXT, Audience, EventType
from penstock_contracts.ids import ProviderId

EVENTS: Final = (
    EventType(
        "provider.created",
        "People may sign in through another issuer.",
        Audience.TENANT,
        ProviderId,
        {"name": TEXT, "issuer": TEXT},
    ),
    EventType(
        "provider.disabled",
        "Nobody signs in through this issuer any more.",
        Audience.TENANT,
        ProviderId,
    ),
)
