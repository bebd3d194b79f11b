"""What happens to the realm at which a tenant's people sign in."""

from typing import Final

from penstock.kernel.catalogue import TEXT, Audience, EventType
from penstock_contracts.ids import TenantId

HOSTED: Final = {"provider": TEXT, "issuer": TEXT.or_null, "email": TEXT.or_null}

EVENTS: Final = (
    EventType(
        "realm.suspended",
        "Nobody signs in at the tenant's realm.",
        Audience.TENANT,
        TenantId,
        {"reason": TEXT},
    ),
    EventType(
        "realm.resumed",
        "People sign in at the tenant's realm again.",
        Audience.TENANT,
        TenantId,
        {"reason": TEXT},
    ),
    EventType(
        "realm.hosted", "The realm was made where it is hosted.", Audience.TENANT, TenantId, HOSTED
    ),
    EventType(
        "realm.host_suspended",
        "The realm was suspended where it is hosted.",
        Audience.TENANT,
        TenantId,
        HOSTED,
    ),
    EventType(
        "realm.host_resumed",
        "The realm was resumed where it is hosted.",
        Audience.TENANT,
        TenantId,
        HOSTED,
    ),
    EventType(
        "realm.host_removed",
        "The realm was removed where it is hosted.",
        Audience.TENANT,
        TenantId,
        HOSTED,
    ),
    EventType(
        "realm.guest_invited",
        "Someone was invited to the realm where it is hosted.",
        Audience.TENANT,
        TenantId,
        HOSTED,
    ),
)
