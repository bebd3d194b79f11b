"""What happens to a user."""

from typing import Final

from penstock.kernel.catalogue import FLAG, INTEGER, TEXT, Audience, EventType
from penstock_contracts.ids import InvitationId, UserId

EVENTS: Final = (
    EventType(
        "user.invited",
        "Someone was invited to the tenant.",
        Audience.TENANT,
        InvitationId,
        {"email": TEXT, "role": TEXT},
    ),
    EventType(
        "user.created",
        "Someone accepted their invitation, and can sign in.",
        Audience.TENANT,
        UserId,
        {"email": TEXT, "role": TEXT},
    ),
    EventType(
        "user.enrolled", "The user has a second factor.", Audience.TENANT, UserId, {"factor": TEXT}
    ),
    EventType(
        "user.updated",
        "The user has another role in the tenant as a whole.",
        Audience.TENANT,
        UserId,
        {"role": TEXT},
    ),
    EventType(
        "user.locked",
        "The user failed to sign in too often, and must wait.",
        Audience.TENANT,
        UserId,
        {"failures": INTEGER},
    ),
    EventType(
        "user.reset",
        "The user was invited to choose a new password.",
        Audience.TENANT,
        UserId,
        {"second_factor": FLAG},
    ),
    EventType(
        "user.disabled",
        "The user is signed out everywhere, and cannot sign in.",
        Audience.TENANT,
        UserId,
    ),
    EventType("user.enabled", "The user can sign in again.", Audience.TENANT, UserId),
)
