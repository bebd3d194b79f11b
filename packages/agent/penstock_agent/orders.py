"""From the bytes of an entry to an order that is safe to act on. Pure: no I/O, no clock.

Nothing is parsed before its signature verified, and every field is bounded.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from google.protobuf.message import DecodeError

from penstock_agent import bindings
from penstock_agent.host import Devices, Lease, Shape
from penstock_contracts import identity, ids
from penstock_contracts.wire_pb2 import Signed, Task

TEXT_MAX: Final = 200
TASK_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/#@=+-]{0,199}")


class Kind(StrEnum):
    """The kinds of task, by the name of their field in `Task.input`."""

    TOPOLOGY_DISCOVER = "topology_discover"
    VM_PROVISION = "vm_provision"
    VM_RELEASE = "vm_release"
    BAREMETAL_ASSIGN = "baremetal_assign"
    BAREMETAL_RELEASE = "baremetal_release"

    @property
    def releases(self) -> bool:
        return self in {Kind.VM_RELEASE, Kind.BAREMETAL_RELEASE}

    @property
    def shape(self) -> Shape:
        whole = self in {Kind.BAREMETAL_ASSIGN, Kind.BAREMETAL_RELEASE}
        return Shape.BAREMETAL if whole else Shape.SLICE


@dataclass(frozen=True)
class Order:
    """A verified task."""

    task_id: str
    kind: Kind
    deadline_us: int
    correlation_id: str
    lease: Lease | None  # None when nothing is leased: discovery

    @property
    def allocation_id(self) -> str:
        return self.lease.allocation_id if self.lease else ""

    @property
    def lanes(self) -> frozenset[str]:
        """Orders that share a lane are carried out one after the other: those of one
        allocation, and those about one slot, whichever allocation they are of."""
        if self.lease is None:
            return frozenset((self.task_id,))
        return frozenset((self.allocation_id, *(slot.id for slot in self.lease.slots)))


class OrderRefused(Exception):
    """The entry will not be acted on. `task_id` is empty if it could not be trusted."""

    def __init__(self, reason: str, task_id: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.task_id = task_id


def read(body: bytes, node_id: str, task_key: bytes) -> Order:
    """The order in an entry's body; OrderRefused says why there is none."""
    task = _verified(body, task_key)
    if not TASK_ID.fullmatch(task.task_id):
        raise OrderRefused("the task id is empty, too long or malformed")
    try:
        return _order(task, node_id)
    except OrderRefused as refusal:
        raise OrderRefused(refusal.reason, task.task_id) from None


def check_devices(order: Order, devices: Devices) -> None:
    """Refuse an order that names what this host does not have."""
    for slot in order.lease.slots if order.lease else ():
        for value, known in (
            (slot.gpu_uuid, devices.gpu_uuids),
            (slot.nvme_serial, devices.nvme_serials),
            (slot.fabric_guid, devices.fabric_guids),
        ):
            if value and value not in known:
                reason = f"slot {slot.id} names {value}, which this node does not have"
                raise OrderRefused(reason, order.task_id)


def _verified(body: bytes, task_key: bytes) -> Task:
    try:
        payload = identity.verify(task_key, Signed.FromString(body))
        return Task.FromString(payload)
    except identity.SignatureRejected:
        raise OrderRefused("the task is not signed by this node's site") from None
    except DecodeError:
        raise OrderRefused("the entry is not a signed task") from None


def _order(task: Task, node_id: str) -> Order:
    if task.node_id != node_id:
        raise OrderRefused("the task is for another node")
    if len(task.correlation_id) > TEXT_MAX or not task.correlation_id.isprintable():
        raise OrderRefused("the correlation id is too long or not printable")
    name = task.WhichOneof("input")
    if name is None:
        raise OrderRefused("the task has no input that this agent knows")
    kind = Kind(name)
    return Order(task.task_id, kind, task.deadline_us, task.correlation_id, _lease(task, kind))


def _lease(task: Task, kind: Kind) -> Lease | None:
    match kind:
        case Kind.TOPOLOGY_DISCOVER:
            return None
        case Kind.VM_PROVISION:
            given = task.vm_provision
        case Kind.VM_RELEASE:
            given = task.vm_release
        case Kind.BAREMETAL_ASSIGN:
            given = task.baremetal_assign
        case Kind.BAREMETAL_RELEASE:
            given = task.baremetal_release
    try:
        allocation_id = ids.AllocationId.parse(given.allocation_id)
        slots = bindings.read(given.slots, kind.shape, releases=kind.releases)
    except (ids.InvalidId, bindings.BindingRefused) as error:
        raise OrderRefused(str(error)) from None
    return Lease(allocation_id, kind.shape, slots)
