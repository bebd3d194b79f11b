"""What happens to the metered usage of a lease."""

from typing import Final

from penstock.kernel.catalogue import TEXT, TIME, Audience, EventType, id_of
from penstock_contracts.ids import AllocationId, DisputeId

EVENTS: Final = (
    EventType(
        "usage.begun",
        "The lease is metered from this time on.",
        Audience.TENANT,
        AllocationId,
        {"at": TIME},
    ),
    EventType(
        "usage.ended",
        "The lease is not metered after this time.",
        Audience.TENANT,
        AllocationId,
        {"at": TIME},
    ),
    EventType(
        "usage.disputed",
        "The site reported a time that cannot be; another counts until an operator settles it.",
        Audience.TENANT,
        AllocationId,
        {"dispute": id_of(DisputeId), "edge": TEXT, "reason": TEXT, "counted_at": TIME},
    ),
    EventType(
        "usage.settled",
        "An operator decided which time counts.",
        Audience.TENANT,
        AllocationId,
        {"dispute": id_of(DisputeId), "edge": TEXT, "counted_at": TIME, "reason": TEXT},
    ),
)
