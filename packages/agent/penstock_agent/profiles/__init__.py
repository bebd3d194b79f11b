"""Hardware profiles: what a simulated host is made of. Built-in ones are the files here."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock_agent import fields
from penstock_agent.fields import FieldInvalid, Fields

BUILT_IN: Final = Path(__file__).parent
GPUS_MAX: Final = 64
CPUS_MAX: Final = 1 << 14
MEMORY_MIB_MAX: Final = 1 << 28
FAMILY: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
PCI_ADDRESS: Final = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


class ProfileInvalid(Exception):
    """The profile cannot be used. The text names the file and the field."""


@dataclass(frozen=True)
class Gpu:
    """One GPU and what travels with it."""

    pci_address: str
    numa_node: int
    nvme: bool
    fabric: bool


@dataclass(frozen=True)
class Profile:
    name: str
    gpu_vendor: str
    gpu_model: str
    gpu_family: str
    gpu_memory_mib: int
    cpus: int
    memory_mib: int
    host_cpus: int  # kept for the host itself; the rest is shared out to the slots
    host_memory_mib: int
    numa_nodes: int
    gpus: tuple[Gpu, ...]

    @property
    def slot_cpus(self) -> int:
        return (self.cpus - self.host_cpus) // len(self.gpus)

    @property
    def slot_memory_mib(self) -> int:
        return (self.memory_mib - self.host_memory_mib) // len(self.gpus)


def names() -> list[str]:
    return sorted(path.stem for path in BUILT_IN.glob("*.json"))


def load(name: str) -> Profile:
    """The built-in profile of that name, or the one in the file at that path."""
    is_path = "/" in name or name.endswith(".json")
    if not is_path and name not in names():
        known = ", ".join(names())
        raise ProfileInvalid(
            f"there is no hardware profile {name[:64]!r}; known: {known}, or the path of a file"
        )
    path = Path(name) if is_path else BUILT_IN / f"{name}.json"
    try:
        return _profile(fields.load(path))
    except FieldInvalid as error:
        raise ProfileInvalid(str(error)) from error


def _profile(given: Fields) -> Profile:
    numa_nodes = given.integer("numa_nodes", 1, 16)
    profile = Profile(
        name=_matching(given, "name"),
        gpu_vendor=given.text("gpu_vendor"),
        gpu_model=given.text("gpu_model"),
        gpu_family=_matching(given, "gpu_family"),
        gpu_memory_mib=given.integer("gpu_memory_mib", 1024, 1 << 22),
        cpus=given.integer("cpus", 1, CPUS_MAX),
        memory_mib=given.integer("memory_mib", 1024, MEMORY_MIB_MAX),
        host_cpus=given.integer("host_cpus", 0, CPUS_MAX),
        host_memory_mib=given.integer("host_memory_mib", 0, MEMORY_MIB_MAX),
        numa_nodes=numa_nodes,
        gpus=tuple(_gpu(gpu, numa_nodes) for gpu in given.objects("gpus", 1, GPUS_MAX)),
    )
    given.end()
    _check_together(given, profile)
    return profile


def _gpu(given: Fields, numa_nodes: int) -> Gpu:
    address = given.text("pci_address")
    if not PCI_ADDRESS.fullmatch(address):
        raise given.invalid("pci_address", "must look like 0000:1b:00.0")
    gpu = Gpu(
        pci_address=address,
        numa_node=given.integer("numa_node", 0, numa_nodes - 1),
        nvme=given.flag("nvme"),
        fabric=given.flag("fabric"),
    )
    given.end()
    return gpu


def _matching(given: Fields, name: str) -> str:
    value = given.text(name)
    if not FAMILY.fullmatch(value):
        raise given.invalid(name, "must be 1 to 32 small letters, digits and dashes")
    return value


def _check_together(given: Fields, profile: Profile) -> None:
    if len({gpu.pci_address for gpu in profile.gpus}) != len(profile.gpus):
        raise given.invalid("gpus", "have the same pci_address more than once")
    if profile.slot_cpus < 1:
        raise given.invalid("host_cpus", "leaves less than one cpu for each GPU")
    if profile.slot_memory_mib < 1:
        raise given.invalid("host_memory_mib", "leaves less than 1 MiB for each GPU")
