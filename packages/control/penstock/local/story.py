"""Events in words that need no manual."""

from collections.abc import Mapping
from typing import Final

from penstock_client import words
from penstock_client.views.events import Event

PHRASES: Final[Mapping[str, str]] = {
    "allocation.placed": "slots claimed in the database; nobody else can have them",
    "allocation.ending": "its end is near; then it is released",
    "allocation.releasing": "release asked for; the slots stay claimed until they are proven clean",
    "allocation.released": "cleanup is proven for every slot; the GPUs may be leased again",
    "allocation.abandoned": "nobody waits for its cleanup any more; the slots stay blocked",
    "allocation.failed": "it could not be realized",
    "usage.begun": "from now on the tenant pays",
    "usage.ended": "from now on the tenant pays no more",
    "slot.cleanup_proven": "the node signed a proof that this slot is clean",
    "slot.cleanup_blocked": "no proof of cleanup: the slot is withheld",
    "slot.approved": "the slot may be leased",
    "node.enrolled": "the node joined and has its certificate",
    "node.connected": "the node's link is up",
    "node.disconnected": "the node's link is down",
    "node.schedulable": "the node can be leased from",
}
OBSERVED: Final[Mapping[str, str]] = {
    "active": "the node proved that the GPUs are there; they are the tenant's",
    "stopping": "the tenant no longer has them; cleanup begins",
    "released": "the node says that its cleanup is finished",
    "failed": "the node could not do it, and took back what it had begun",
}
DETAILS: Final = ("workflow", "step", "status", "state", "reason", "detail")


def tell(event: Event) -> str:
    """One line for one event."""
    data = event["data"]
    details = " · ".join(words.plain(data[key]) for key in DETAILS if data.get(key))
    phrase = PHRASES.get(event["type"]) or OBSERVED.get(str(data.get("observed")), "")
    parts = [phrase, details]
    said = ": ".join(part for part in parts if part) or words.plain(data)
    return f"{words.safe(event['type']):<22} {said}"


def concerns(event: Event, allocation: str) -> bool:
    """Events of an allocation, and of the slots that it holds."""
    data = event["data"]
    return event["subject"] == allocation or data.get("allocation") == allocation
