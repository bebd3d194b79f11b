"""A slot and its state. The state is derived from approval and the live claim. Pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from penstock_contracts.ids import AllocationId, NodeId, SlotId
from penstock_contracts.wire_pb2 import ProposedSlot


class SlotState(StrEnum):
    PROPOSED = "proposed"  # discovered, not approved: not schedulable
    APPROVED = "approved"  # free to be claimed
    CLAIMED = "claimed"  # a lease holds it
    CLEANING = "cleaning"  # the lease is over; cleanup is not proven yet
    CLEANUP_BLOCKED = "cleanup_blocked"  # the proof was not enough
    RETIRED = "retired"  # clean, and gone with its node


@dataclass(frozen=True)
class Slot:
    id: SlotId
    node_id: NodeId
    kind: str
    index: int
    gpu_uuid: str
    pci_address: str
    nvme_serial: str
    fabric_guid: str
    numa_node: int
    cpus: int
    memory_mib: int
    cleanup_steps: tuple[str, ...]
    approved_at: datetime | None
    fence: int  # of the last claim; 0 if it was never claimed
    allocation_id: AllocationId | None  # of the live claim
    cleanup_nonce: bytes | None
    blocked_reason: str
    retired_at: datetime | None = None

    @property
    def state(self) -> SlotState:
        if self.retired_at is not None:
            return SlotState.RETIRED
        if self.allocation_id is None:
            return SlotState.APPROVED if self.approved_at else SlotState.PROPOSED
        if self.blocked_reason:
            return SlotState.CLEANUP_BLOCKED
        return SlotState.CLEANING if self.cleanup_nonce else SlotState.CLAIMED


CHASSIS_CLEANUP: Final = ("runtime.destroyed", "host.reimaged", "firmware.verified")


def cleanup_policy(proposed: ProposedSlot) -> tuple[str, ...]:
    """What must be proven before a GPU slot is used again: a step for each part it has."""
    steps = ["runtime.destroyed", "gpu.memory_cleared", "gpu.reset"]
    if proposed.nvme_serial:
        steps.append("nvme.erased")
    if proposed.fabric_guid:
        steps.append("fabric.detached")
    return tuple(steps)
