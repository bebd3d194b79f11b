"""What happens to a site."""

from typing import Final

from penstock.kernel.catalogue import NUMBER, TEXT, TEXTS, Audience, EventType
from penstock_contracts.ids import SiteId

EVENTS: Final = (
    EventType(
        "site.created", "The site may join the platform.", Audience.PLATFORM, SiteId, {"name": TEXT}
    ),
    EventType("site.enrolled", "The site joined with a key of its own.", Audience.PLATFORM, SiteId),
    EventType(
        "site.described",
        "The site told its version and where its nodes join.",
        Audience.PLATFORM,
        SiteId,
        {"version": TEXT},
    ),
    EventType(
        "site.connected",
        "The site's link to central is up.",
        Audience.PLATFORM,
        SiteId,
        {"name": TEXT},
    ),
    EventType(
        "site.disconnected", "The site's link to central is down.", Audience.PLATFORM, SiteId
    ),
    EventType(
        "site.away",
        "The site was missing for longer than its grace, so nothing is placed there.",
        Audience.PLATFORM,
        SiteId,
        {"grace_s": NUMBER},
    ),
    EventType(
        "site.updated",
        "An operator changed the site's tags.",
        Audience.PLATFORM,
        SiteId,
        {"tags": TEXTS},
    ),
)
