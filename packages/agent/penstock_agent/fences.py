"""The rule of fences. Pure.

A fence is the number of one claim on one slot. The highest seen is the only one in
force; once its release was ordered it is closed, and nothing may be given out on it.
"""

from dataclasses import dataclass

from penstock_contracts.drivers.lease import Slot


@dataclass(frozen=True)
class Fence:
    """The highest fence seen for a slot, and whose claim it is."""

    number: int
    allocation_id: str
    closed: bool


def refusal(held: Fence | None, slot: Slot, allocation_id: str, *, ends: bool) -> str | None:
    """Why an order for `slot` must not be carried out; None if it may."""
    if held is None or slot.fence > held.number:
        return None
    if slot.fence < held.number:
        return f"slot {slot.id}: fence {slot.fence} is stale; {held.number} is in force"
    if allocation_id != held.allocation_id:
        return f"slot {slot.id}: fence {slot.fence} belongs to {held.allocation_id}"
    if held.closed and not ends:
        return f"slot {slot.id}: fence {slot.fence} is released; it cannot be given out again"
    return None
