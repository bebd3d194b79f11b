"""A slot is encoded in one way, whether its encoding is kept or made anew."""

from typing import Any

from penstock.central.placement.bindings import Bindings
from penstock.central.slots import binding
from penstock.central.slots.model import Slot
from penstock_contracts.ids import NodeId, SlotId
from penstock_contracts.wire_pb2 import SlotBinding

STEPS = ("runtime.destroyed", "gpu.reset")
FENCE = 41
ROW: dict[str, Any] = {
    "id": SlotId.new(),
    "kind": "gpu",
    "index": 3,
    "gpu_uuid": "GPU-3",
    "nvme_serial": "S3",
    "fabric_guid": "0x3",
    "numa_node": 1,
    "cpus": 24,
    "memory_mib": 1 << 17,
    "cleanup_steps": STEPS,
}


class Row(dict[str, Any]):
    """A record, which iterates over its values."""

    def __iter__(self) -> Any:
        return iter(self.values())


def slot(nonce: bytes | None = None) -> Slot:
    return Slot(
        **ROW, node_id=NodeId.new(), pci_address="", approved_at=None, fence=FENCE,
        allocation_id=None, cleanup_nonce=nonce, blocked_reason="",
    )  # fmt: skip


def test_a_kept_encoding_says_what_the_slot_says() -> None:
    known = Bindings()
    known.learn([Row(ROW)])  # pyright: ignore[reportArgumentType] # as asyncpg's
    (kept,) = known.of([ROW["id"]], FENCE)
    assert SlotBinding.FromString(kept) == SlotBinding.FromString(binding.of(slot()))


def test_a_claimed_slot_is_told_whole() -> None:
    told = SlotBinding.FromString(binding.of(slot(b"nonce")))
    assert told == SlotBinding(
        slot_id=ROW["id"], fence=FENCE, index=3, gpu_uuid="GPU-3", nvme_serial="S3",
        fabric_guid="0x3", numa_node=1, cpus=24, memory_mib=1 << 17, cleanup_nonce=b"nonce",
        cleanup_steps=STEPS,
    )  # fmt: skip
