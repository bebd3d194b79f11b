"""A lease as a host is given it: one allocation's slots, and what its runtime is made of. Pure."""

from dataclasses import dataclass, field
from enum import StrEnum


class Shape(StrEnum):
    SLICE = "slice"  # some GPUs of the node, in a virtual machine
    BAREMETAL = "baremetal"  # the whole node


@dataclass(frozen=True)
class Slot:
    """One slot of a lease: what to give, what to clean, and under which fence."""

    id: str
    fence: int
    chassis: bool
    index: int
    gpu_uuid: str
    nvme_serial: str
    fabric_guid: str
    numa_node: int
    cpus: int
    memory_mib: int
    nonce: bytes = field(repr=False)
    steps: tuple[str, ...]

    @property
    def devices(self) -> tuple[str, ...]:
        """Every device that travels with the slot, by its identity."""
        return tuple(filter(None, (self.gpu_uuid, self.nvme_serial, self.fabric_guid)))


class ImageFormat(StrEnum):
    RAW = "raw"
    QCOW2 = "qcow2"
    OCI = "oci"


@dataclass(frozen=True)
class Image:
    """What the runtime boots. Content with another digest is never booted."""

    reference: str
    digest: str  # sha256:…
    format: ImageFormat


@dataclass(frozen=True)
class Network:
    """One interface of the runtime."""

    id: str
    vlan: int  # 0: none
    vni: int  # 0: none
    mac: str
    addresses: tuple[str, ...]  # with their prefix
    gateway: str
    mtu: int  # 0: the host's own


class VolumeMode(StrEnum):
    READ_WRITE = "read_write"
    READ_ONLY = "read_only"


@dataclass(frozen=True)
class Volume:
    id: str
    size_bytes: int
    mode: VolumeMode
    device: str  # its name inside the runtime


@dataclass(frozen=True)
class Access:
    """Who may enter the runtime, and what it does when it first boots."""

    user: str
    ssh_public_keys: tuple[str, ...]
    user_data: bytes = field(default=b"", repr=False)  # may hold a tenant's secrets


@dataclass(frozen=True)
class Lease:
    """One allocation on this host. What is empty or None is not asked for."""

    allocation_id: str
    shape: Shape
    slots: tuple[Slot, ...]
    image: Image | None = None
    networks: tuple[Network, ...] = ()
    volumes: tuple[Volume, ...] = ()
    access: Access | None = None
