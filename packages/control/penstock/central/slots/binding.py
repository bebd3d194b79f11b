"""How a slot is told to its site and its host: the one encoder of a SlotBinding. Pure."""

from collections.abc import Sequence

from penstock.central.slots.model import Slot
from penstock_contracts.wire_pb2 import SlotBinding


def encode(
    id: str,
    kind: str,
    index: int,
    gpu_uuid: str,
    nvme_serial: str,
    fabric_guid: str,
    numa_node: int,
    cpus: int,
    memory_mib: int,
    cleanup_steps: Sequence[str],
) -> bytes:
    """What of a slot never changes. Append a `claim` of it: what is appended is merged."""
    return SlotBinding(
        slot_id=id,
        chassis=kind == "chassis",
        index=index,
        gpu_uuid=gpu_uuid,
        nvme_serial=nvme_serial,
        fabric_guid=fabric_guid,
        numa_node=numa_node,
        cpus=cpus,
        memory_mib=memory_mib,
        cleanup_steps=cleanup_steps,
    ).SerializeToString()


def claim(fence: int, cleanup_nonce: bytes = b"") -> bytes:
    """What a claim adds to its slot."""
    return SlotBinding(fence=fence, cleanup_nonce=cleanup_nonce).SerializeToString()


def of(slot: Slot) -> bytes:
    """A claimed slot, whole."""
    return encode(
        slot.id,
        slot.kind,
        slot.index,
        slot.gpu_uuid,
        slot.nvme_serial,
        slot.fabric_guid,
        slot.numa_node,
        slot.cpus,
        slot.memory_mib,
        slot.cleanup_steps,
    ) + claim(slot.fence, slot.cleanup_nonce or b"")
