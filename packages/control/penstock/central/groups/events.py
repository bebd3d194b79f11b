"""What happens to a group."""

from typing import Final

from penstock.kernel.catalogue import TEXT, Audience, EventType
from penstock_contracts.ids import GroupId

EVENTS: Final = (
    EventType(
        "group.created",
        "There is another group, with nobody in it.",
        Audience.OWNER,
        GroupId,
        {"name": TEXT},
    ),
    EventType(
        "group.member_added",
        "Someone is in the group, and has its roles.",
        Audience.OWNER,
        GroupId,
        {"member": TEXT},
    ),
    EventType(
        "group.member_removed",
        "Someone is no longer in the group.",
        Audience.OWNER,
        GroupId,
        {"member": TEXT},
    ),
    EventType(
        "group.deleted",
        "The group is gone, and the roles that it gave.",
        Audience.OWNER,
        GroupId,
        {"name": TEXT},
    ),
)
