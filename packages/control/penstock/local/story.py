"""Events in words that need no manual."""

from collections.abc import Mapping
from typing import Final

from penstock_client import words
from penstock_client.views import Event

PHRASES: Final[Mapping[str, str]] = {
    "allocation.placed": "slots claimed in the database; nobody else can have them",
    "allocation.observed": "the node reports what really runs",
    "allocation.active": "the node proved that the GPUs are there; they are the tenant's",
    "allocation.releasing": "release asked for; the slots stay claimed until they are proven clean",
    "allocation.released": "cleanup is proven for every slot; the GPUs may be leased again",
    "allocation.failed": "it could not be realized",
    "slot.cleanup_proven": "the node signed a proof that this slot is clean",
    "slot.cleanup_blocked": "no proof of cleanup: the slot is withheld",
    "slot.approved": "the slot may be leased",
    "node.enrolled": "the node joined and has its certificate",
    "node.connected": "the node's link is up",
    "node.disconnected": "the node's link is down",
    "node.schedulable": "the node can be leased from",
}
DETAILS: Final = ("workflow", "step", "status", "state", "reason", "detail")


def tell(event: Event) -> str:
    """One line for one event."""
    data = event["data"]
    details = " · ".join(words.plain(data[key]) for key in DETAILS if data.get(key))
    parts = [PHRASES.get(event["type"], ""), details]
    said = ": ".join(part for part in parts if part) or words.plain(data)
    return f"{words.safe(event['type']):<22} {said}"


def concerns(event: Event, allocation: str) -> bool:
    """Events of an allocation, and of the slots that it holds."""
    data = event["data"]
    return event["subject"] == allocation or data.get("allocation") == allocation
