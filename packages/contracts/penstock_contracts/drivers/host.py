"""Drivers of kind `host`: what the agent asks of a machine with GPUs."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from penstock_contracts.drivers.lease import Lease
from penstock_contracts.drivers.registry import Kind
from penstock_contracts.wire_pb2 import Topology


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


@dataclass(frozen=True, order=True)
class HeldSlot:
    """A slot that an allocation has, or left uncleaned, and the fence under which it got it."""

    id: str
    fence: int


@dataclass(frozen=True)
class Holding:
    """What the host holds for one allocation now."""

    allocation_id: str
    runtime_id: str  # empty: the runtime is gone, and the slots are not clean yet
    slots: tuple[HeldSlot, ...]


@dataclass(frozen=True)
class Fact:
    """Whether a check of the host passes now: `gpu.xid` of a GPU, `gpu.temperature`, …

    `runtime.running` of an allocation does not pass once its runtime ended by itself.
    """

    check: str
    subject: str  # a device's identity, or an allocation's id
    passed: bool
    detail: str = ""


class Host(Protocol):
    """A GPU host. Rules for every implementation, which `conformance.host` has by their numbers:

    1. An effect is durable when the call returns: a new instance on the same machine knows it.
    2. Every call may be repeated, also after a crash in the middle, with the same outcome.
    3. A cancelled call may leave its effect half done; a later `release` cleans it.
    4. A device that is in use by another lease, or was left uncleaned by one, is never handed
       over: not a GPU, nor an NVMe or fabric device, nor the chassis.
    5. `release` runs every step of each slot, in order, and reports each as it went;
       a step that it does not know is reported as not passed, and its slot stays unclean.
    6. What cannot be done raises a fault of the closed set (`drivers.faults`), with a text for
       people, and nothing else is raised. What an implementation cannot give (an image, a
       network, a volume) is Unsupported; it is never left out in silence.
    7. `holds` tells what is there and not what was asked for: every runtime and every slot that
       is not clean, with the fence of whoever had it last, also those that nobody told it of.
    8. `watch` first tells every check that does not pass now, then each change, as changes and
       not as samples; it never ends by itself. A runtime that ended without a release is such a
       change (`runtime.running`), until it is released. One reader at a time.
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

    async def holds(self) -> Sequence[Holding]:
        """What the host holds for tenants at this moment."""
        ...

    def watch(self) -> AsyncIterator[Fact]:
        """The host's health, as it changes."""
        ...


class Hosts(Protocol):
    """What a driver opens: the hosts that one agent process looks after.

    That is the machine it runs on; only a simulation has more than one.
    """

    async def host(self, name: str, number: int) -> Host:
        """The node of this name, the `number`th from 1. Conflict if there are not that many."""
        ...


HOST: Final = Kind[Hosts]("host", "Realizes leases on machines with GPUs.")
