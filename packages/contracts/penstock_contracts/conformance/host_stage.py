"""What whoever tests a host driver provides: a host, and what only its outside can show."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from penstock_contracts.drivers.host import Host
from penstock_contracts.drivers.lease import Lease, Shape, Slot
from penstock_contracts.ids import AllocationId, SlotId
from penstock_contracts.wire_pb2 import ProposedSlot

SLOTS: Final = 2  # a host under test has at least so many GPUs


class HostStage(Protocol):
    """One host that holds nothing, of at least two GPUs."""

    @property
    def host(self) -> Host: ...

    @property
    def steps(self) -> Sequence[str]:
        """The cleanup steps of a GPU's slot that this host knows."""
        ...

    async def restarted(self) -> Host:
        """Another instance on the same machine, as after the agent's death."""
        ...

    async def ail(self) -> tuple[str, str]:
        """Make a check of the host not pass; its name, and of which device it is."""
        ...

    async def mend(self) -> None:
        """Make that check pass again."""
        ...

    async def kill(self, allocation_id: str) -> None:
        """End an allocation's runtime from outside, as its guest or its host might."""
        ...


class Ledger:
    """Makes leases of a host's own slots, each claim under a fence of its own."""

    def __init__(self, proposed: Sequence[ProposedSlot], steps: Sequence[str]) -> None:
        self._steps = tuple(steps)
        self._fence = 0
        self._slots = [(SlotId.new(), one) for one in proposed]
        self._chassis = SlotId.new()

    def slice(self, *indexes: int) -> Lease:
        self._fence += 1
        slots = tuple(self._slot(index) for index in indexes)
        return Lease(AllocationId.new(), Shape.SLICE, slots)

    def whole(self) -> Lease:
        lease = self.slice(*range(len(self._slots)))
        chassis = replace(
            lease.slots[0], id=self._chassis, chassis=True, gpu_uuid="", nvme_serial="",
            fabric_guid="", steps=(),
        )  # fmt: skip
        return replace(lease, shape=Shape.BAREMETAL, slots=(chassis, *lease.slots))

    def _slot(self, index: int) -> Slot:
        id, one = self._slots[index]
        return Slot(
            id=id,
            fence=self._fence,
            chassis=False,
            index=one.index,
            gpu_uuid=one.gpu_uuid,
            nvme_serial=one.nvme_serial,
            fabric_guid=one.fabric_guid,
            numa_node=one.numa_node,
            cpus=one.cpus,
            memory_mib=one.memory_mib,
            nonce=secrets.token_bytes(16),
            steps=self._steps,
        )


def spoiled(lease: Lease) -> Lease:
    """With a cleanup step that no host knows, last."""
    slots = tuple(replace(slot, steps=(*slot.steps, "moon.howled_at")) for slot in lease.slots)
    return replace(lease, slots=slots)
