"""What happens to a quota. The limit that changed is in the field of its kind."""

from typing import Final

from penstock.central.quotas.model import Kind
from penstock.kernel.catalogue import INTEGER, TEXT, Audience, EventType
from penstock_contracts.ids import OrganizationId, ProjectId, TenantId

SCOPES: Final = (TenantId, OrganizationId, ProjectId)
FIELDS: Final = {
    **{kind.field: INTEGER.or_null.or_absent for kind in Kind},
    "family": TEXT.or_absent,
    "currency": TEXT.or_absent,
    "before": INTEGER.or_null,
}

EVENTS: Final = (
    EventType("quota.set", "The use of something is limited.", Audience.TENANT, SCOPES, FIELDS),
    EventType(
        "quota.removed",
        "The use of something is no longer limited here.",
        Audience.TENANT,
        SCOPES,
        FIELDS,
    ),
)
