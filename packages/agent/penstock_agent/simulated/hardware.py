"""The devices of a simulated node. Derived, so that they are stable and unique. Pure."""

import hashlib
import uuid
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from penstock_agent.profiles import Profile
from penstock_contracts.drivers.host import Devices
from penstock_contracts.wire_pb2 import ProposedSlot, Readiness, Topology

NODES_PER_LEAF: Final = 32
CHECKS: Final = {
    "gpu.count": "every GPU of the profile answers",
    "gpu.memory": "no uncorrectable ECC errors",
    "gpu.interconnect": "every GPU reaches every other",
    "nvme.health": "no media errors; wear below 1%",
    "fabric.link": "every port is up at full rate",
    "host.firmware": "measured firmware matches its manifest",
}


@dataclass(frozen=True)
class Hardware:
    """One simulated node's devices, slot by slot."""

    profile: Profile
    fabric_leaf: str
    slots: tuple[ProposedSlot, ...]
    product_serial: str = ""

    @cached_property
    def devices(self) -> Devices:
        return Devices(
            gpu_uuids=frozenset(slot.gpu_uuid for slot in self.slots),
            nvme_serials=frozenset(s.nvme_serial for s in self.slots if s.nvme_serial),
            fabric_guids=frozenset(s.fabric_guid for s in self.slots if s.fabric_guid),
        )

    def topology(self, failed_check: str | None = None) -> Topology:
        profile = self.profile
        return Topology(
            hardware=profile.name,
            gpu_family=profile.gpu_family,
            gpu_vendor=profile.gpu_vendor,
            gpu_model=profile.gpu_model,
            gpu_memory_mib=profile.gpu_memory_mib,
            cpus=profile.cpus,
            memory_mib=profile.memory_mib,
            numa_nodes=profile.numa_nodes,
            fabric_leaf=self.fabric_leaf,
            slots=self.slots,
            product_serial=self.product_serial,
            readiness=[
                Readiness(check=check, passed=False, detail="injected fault")
                if check == failed_check
                else Readiness(check=check, passed=True, detail=f"simulated: {detail}")
                for check, detail in CHECKS.items()
            ],
        )


def build(profile: Profile, seed: bytes, name: str, number: int) -> Hardware:
    """The devices of node `name`, the `number`th (from 1), in the world that `seed` stands for."""
    leaf = f"leaf-{(number - 1) // NODES_PER_LEAF + 1:03d}"
    slots = tuple(_slot(profile, seed, name, index) for index in range(len(profile.gpus)))
    text = f"{profile.name}/{name}/product"
    serial = hashlib.blake2b(text.encode(), key=seed, digest_size=6).hexdigest().upper()
    return Hardware(profile, leaf, slots, f"SIM{serial}")


def _slot(profile: Profile, seed: bytes, name: str, index: int) -> ProposedSlot:
    gpu = profile.gpus[index]

    def derive(what: str) -> bytes:
        text = f"{profile.name}/{name}/{what}/{index}"
        return hashlib.blake2b(text.encode(), key=seed, digest_size=16).digest()

    return ProposedSlot(
        index=index,
        gpu_uuid=f"GPU-{uuid.UUID(bytes=derive('gpu'), version=4)}",
        pci_address=gpu.pci_address,
        nvme_serial=f"S{derive('nvme').hex()[:15].upper()}" if gpu.nvme else "",
        fabric_guid=f"0x{derive('fabric').hex()[:16]}" if gpu.fabric else "",
        numa_node=gpu.numa_node,
        cpus=profile.slot_cpus,
        memory_mib=profile.slot_memory_mib,
    )
