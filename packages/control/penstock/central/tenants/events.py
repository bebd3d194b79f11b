"""What happens to a tenant."""

from typing import Final

from penstock.central.tenants.model import Status
from penstock.kernel.catalogue import TEXT, Audience, EventType, one_of
from penstock_contracts.ids import TenantId

CHANGED: Final = {"status": one_of(Status), "before": one_of(Status), "reason": TEXT}

EVENTS: Final = (
    EventType(
        "tenant.created",
        "The tenant exists.",
        Audience.TENANT,
        TenantId,
        {"name": TEXT, "status": one_of(Status)},
    ),
    EventType(
        "tenant.forgotten",
        "The tenant's onboarding was undone, so it never came to be.",
        Audience.TENANT,
        TenantId,
        {"reason": TEXT},
    ),
    EventType("tenant.activated", "The tenant may lease.", Audience.TENANT, TenantId, CHANGED),
    EventType(
        "tenant.suspended",
        "The tenant leases nothing new; what it has goes on.",
        Audience.TENANT,
        TenantId,
        CHANGED,
    ),
    EventType("tenant.resumed", "The tenant may lease again.", Audience.TENANT, TenantId, CHANGED),
    EventType(
        "tenant.offboarding",
        "The tenant leaves: all its leases are released.",
        Audience.TENANT,
        TenantId,
        CHANGED,
    ),
    EventType(
        "tenant.offboarded",
        "The tenant is gone: every cleanup is proven.",
        Audience.TENANT,
        TenantId,
        CHANGED,
    ),
)
