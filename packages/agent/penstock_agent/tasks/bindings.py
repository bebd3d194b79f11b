"""The slots that a task names, checked: bounded, well formed, and sensible together. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from penstock_agent.tasks.doer import InputRefused
from penstock_contracts import ids
from penstock_contracts.drivers.lease import Shape, Slot
from penstock_contracts.wire_pb2 import SlotBinding

SLOTS_MAX: Final = 128
STEPS_MAX: Final = 32
NONCE_BYTES_MAX: Final = 256
FENCE_MAX: Final = (1 << 63) - 1
DEVICE: Final = re.compile(r"[A-Za-z0-9._:-]{0,128}")
STEP: Final = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
BOUNDS: Final = {"index": 1023, "numa_node": 255, "cpus": 1 << 16, "memory_mib": 1 << 40}


def read(given: Sequence[SlotBinding], shape: Shape, *, releases: bool) -> tuple[Slot, ...]:
    if not 1 <= len(given) <= SLOTS_MAX:
        raise InputRefused(f"a task names 1 to {SLOTS_MAX} slots; this one {len(given)}")
    slots = tuple(_slot(binding, releases) for binding in given)
    _check_together(slots, shape)
    return slots


def _slot(binding: SlotBinding, releases: bool) -> Slot:
    slot = Slot(
        id=binding.slot_id,
        fence=binding.fence,
        chassis=binding.chassis,
        index=binding.index,
        gpu_uuid=binding.gpu_uuid,
        nvme_serial=binding.nvme_serial,
        fabric_guid=binding.fabric_guid,
        numa_node=binding.numa_node,
        cpus=binding.cpus,
        memory_mib=binding.memory_mib,
        nonce=binding.cleanup_nonce,
        steps=tuple(binding.cleanup_steps),
    )
    _check_identity(slot)
    _check_amounts(slot)
    _check_cleanup(slot, releases)
    return slot


def _check_identity(slot: Slot) -> None:
    try:
        ids.SlotId.parse(slot.id)
    except ids.InvalidId as error:
        raise InputRefused(str(error)) from None
    for name in ("gpu_uuid", "nvme_serial", "fabric_guid"):
        if not DEVICE.fullmatch(str(getattr(slot, name))):
            raise InputRefused(f"slot {slot.id} has a malformed {name}")
    if not slot.chassis and not slot.gpu_uuid:
        raise InputRefused(f"slot {slot.id} names no GPU and is not the chassis")


def _check_amounts(slot: Slot) -> None:
    if not 1 <= slot.fence <= FENCE_MAX:
        raise InputRefused(f"slot {slot.id} has no valid fence")
    for name, most in BOUNDS.items():
        if int(getattr(slot, name)) > most:
            raise InputRefused(f"slot {slot.id} has more than {most} as {name}")


def _check_cleanup(slot: Slot, releases: bool) -> None:
    if releases and not slot.nonce:
        raise InputRefused(f"slot {slot.id} has no cleanup nonce; a release needs one")
    if len(slot.nonce) > NONCE_BYTES_MAX:
        raise InputRefused(f"slot {slot.id} has a cleanup nonce of over {NONCE_BYTES_MAX} bytes")
    if len(slot.steps) > STEPS_MAX or len(set(slot.steps)) != len(slot.steps):
        raise InputRefused(f"slot {slot.id} has too many cleanup steps, or one of them twice")
    if not all(STEP.fullmatch(step) for step in slot.steps):
        raise InputRefused(f"slot {slot.id} has a malformed cleanup step")


def _check_together(slots: Sequence[Slot], shape: Shape) -> None:
    devices = [device for slot in slots for device in slot.devices]
    if len({slot.id for slot in slots}) != len(slots) or len(set(devices)) != len(devices):
        raise InputRefused("the task names a slot or a device twice")
    chassis = sum(slot.chassis for slot in slots)
    if shape is Shape.SLICE and chassis:
        raise InputRefused("a slice cannot have the chassis")
    if shape is Shape.BAREMETAL and chassis != 1:
        raise InputRefused(f"a baremetal task names one chassis slot; this one {chassis}")
