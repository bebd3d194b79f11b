"""What happens to a re-enrolment: a node that lost its key asks to come back."""

from typing import Final

from penstock.kernel.catalogue import TEXT, TEXTS, Audience, EventType, id_of
from penstock_contracts.ids import NodeId, ReenrolmentId, SiteId

ABOUT: Final = {"node": id_of(NodeId), "site": id_of(SiteId)}
EVENTS: Final = (
    EventType(
        "reenrolment.requested",
        "A machine says that it is a node that lost its key; it waits for an operator's decision.",
        Audience.PLATFORM,
        ReenrolmentId,
        {**ABOUT, "key": TEXT, "differs": TEXT},
    ),
    EventType(
        "reenrolment.approved",
        "The node is who holds the new key; the leases that it held end.",
        Audience.PLATFORM,
        ReenrolmentId,
        {**ABOUT, "key": TEXT, "released": TEXTS, "reason": TEXT},
    ),
    EventType(
        "reenrolment.rejected",
        "The new key was refused; the node is who it was.",
        Audience.PLATFORM,
        ReenrolmentId,
        {**ABOUT, "reason": TEXT},
    ),
)
