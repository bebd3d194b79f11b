"""What happens to a slot of a node."""

from typing import Final

from penstock.kernel.catalogue import INTEGER, TEXT, Audience, EventType, id_of
from penstock_contracts.ids import AllocationId, NodeId, ProofId, SlotId

EVENTS: Final = (
    EventType(
        "slot.approved",
        "An operator, or the site's own rule, lets the slot be leased.",
        Audience.PLATFORM,
        SlotId,
        {"node": id_of(NodeId), "kind": TEXT, "index": INTEGER},
    ),
    EventType(
        "slot.cleanup_proven",
        "The node proved that a slot of the lease is clean, so it is free.",
        Audience.TENANT,
        AllocationId,
        {
            "slot": id_of(SlotId),
            "allocation": id_of(AllocationId),
            "fence": INTEGER,
            "proof": id_of(ProofId),
        },
    ),
    EventType(
        "slot.cleanup_blocked",
        "The cleanup of a slot of the lease is not proven, so it stays claimed.",
        Audience.TENANT,
        AllocationId,
        {
            "slot": id_of(SlotId),
            "allocation": id_of(AllocationId),
            "fence": INTEGER,
            "reason": TEXT,
        },
    ),
    EventType(
        "slot.cleanup_retried",
        "An operator asked the node again to clean a blocked slot.",
        Audience.PLATFORM,
        SlotId,
        {"allocation": id_of(AllocationId)},
    ),
)
