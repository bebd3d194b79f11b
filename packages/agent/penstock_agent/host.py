"""What the agent asks of a host. A driver for a kind of hardware implements `Host`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from penstock_contracts.wire_pb2 import Topology


class HostFailed(Exception):
    """The host tried and could not. Its text goes into the task's result."""


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


@dataclass(frozen=True)
class Lease:
    """The slots of one allocation on this host."""

    allocation_id: str
    shape: Shape
    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class Devices:
    """The identities of everything that a slot of this host can name."""

    gpu_uuids: frozenset[str]
    nvme_serials: frozenset[str]
    fabric_guids: frozenset[str]


@dataclass(frozen=True)
class Runtime:
    """What the tenant was given."""

    id: str
    gpu_uuids: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Cleaning:
    """What was done to one slot, and for which fence and nonce: the agent signs exactly this."""

    slot_id: str
    fence: int
    nonce: bytes = field(repr=False)
    steps: tuple[Step, ...]


class Host(Protocol):
    """A GPU host. Rules for every implementation:

    1. An effect is durable when the call returns.
    2. Every call may be repeated, also after a crash in the middle, with the same outcome.
    3. A cancelled call may leave its effect half done; a later `release` cleans it.
    4. A slot that another allocation holds, or left uncleaned, is never given out.
    5. `release` runs every step of each slot, in order, and reports each as it went;
       a step that it does not know is reported as not passed.
    6. What cannot be done raises HostFailed with a text for people.
    """

    def devices(self) -> Devices: ...

    async def discover(self) -> Topology:
        """What is in the host, as proposed slots, with readiness evidence."""
        ...

    async def provision(self, lease: Lease) -> Runtime:
        """Put the lease's slots into the tenant's hands."""
        ...

    async def release(self, lease: Lease) -> Sequence[Cleaning]:
        """Take them back and clean them. One Cleaning per slot."""
        ...
