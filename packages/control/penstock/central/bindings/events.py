"""What happens to the roles of people and service accounts."""

from typing import Final

from penstock.kernel.catalogue import OBJECT, TEXT, Audience, EventType
from penstock_contracts.ids import BindingId

FIELDS: Final = {
    "bound_to": TEXT,
    "role": TEXT,
    "scope": TEXT,
    "scope_id": TEXT,
    "conditions": OBJECT,
}

EVENTS: Final = (
    EventType("role.bound", "Someone has a role at a place.", Audience.OWNER, BindingId, FIELDS),
    EventType(
        "role.unbound", "Someone has lost a role at a place.", Audience.OWNER, BindingId, FIELDS
    ),
)
