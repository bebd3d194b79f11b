"""What each cleanup step does to a simulated slot. Pure."""

from collections.abc import Callable
from typing import Final

from penstock_contracts.drivers.host import Step
from penstock_contracts.drivers.lease import Shape, Slot


def _gpu(done: str) -> Callable[[Slot, Shape], tuple[bool, str]]:
    return lambda slot, _: (True, done if slot.gpu_uuid else "the chassis has no GPU of its own")


def _nvme(slot: Slot, _: Shape) -> tuple[bool, str]:
    done = f"cryptographic erase of {slot.nvme_serial}"
    return True, done if slot.nvme_serial else "the slot has no NVMe device"


def _fabric(slot: Slot, _: Shape) -> tuple[bool, str]:
    done = f"partition keys removed from {slot.fabric_guid}"
    return True, done if slot.fabric_guid else "the slot has no fabric device"


def _whole_host(done: str) -> Callable[[Slot, Shape], tuple[bool, str]]:
    refused = "a slice's release does not touch its host"
    return lambda _, shape: (
        shape is Shape.BAREMETAL,
        done if shape is Shape.BAREMETAL else refused,
    )


STEPS: Final[dict[str, Callable[[Slot, Shape], tuple[bool, str]]]] = {
    "runtime.destroyed": lambda _, __: (True, "the tenant's runtime no longer exists"),
    "gpu.memory_cleared": _gpu("device memory overwritten and read back"),
    "gpu.reset": _gpu("function-level reset; the device came back clean"),
    "nvme.erased": _nvme,
    "fabric.detached": _fabric,
    "host.reimaged": _whole_host("root disk written from the golden image"),
    "firmware.verified": _whole_host("measured firmware matches its manifest"),
}


def perform(slot: Slot, shape: Shape, failing: str = "") -> tuple[Step, ...]:
    """Run the slot's policy, in its order; the step named `failing` does not pass."""
    return tuple(_step(name, slot, shape, failing) for name in slot.steps)


def _step(name: str, slot: Slot, shape: Shape, failing: str) -> Step:
    if name not in STEPS:
        return Step(name, passed=False, detail="unknown step")
    if name == failing:
        return Step(name, passed=False, detail="injected fault")
    passed, detail = STEPS[name](slot, shape)
    return Step(name, passed, f"simulated: {detail}")
