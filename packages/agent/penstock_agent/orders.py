"""From the bytes of an entry to an order that is safe to act on. Pure: no I/O, no clock.

Nothing is parsed before its signature verified, and every field is bounded.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from google.protobuf.message import DecodeError

from penstock_agent.tasks import kinds
from penstock_agent.tasks.doer import InputRefused
from penstock_agent.tasks.kinds import Kind
from penstock_contracts import identity
from penstock_contracts.drivers.host import Devices
from penstock_contracts.drivers.lease import Lease
from penstock_contracts.wire_pb2 import Signed, Task

TEXT_MAX: Final = 200
TASK_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/#@=+-]{0,199}")


@dataclass(frozen=True)
class Order:
    """A verified task."""

    task_id: str
    kind: Kind[Any]
    deadline_us: int
    correlation_id: str
    input: object  # what the kind's reader made of it

    @property
    def lease(self) -> Lease | None:
        """Whose fences must be in force; None when nothing is leased."""
        return self.input if isinstance(self.input, Lease) else None

    @property
    def allocation_id(self) -> str:
        return self.lease.allocation_id if self.lease else ""

    @cached_property
    def lanes(self) -> frozenset[str]:
        """Orders that share a lane are carried out one after the other; a task and its repetition
        always do."""
        return self.kind.lanes(self.input) | {self.task_id}


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
    kind = kinds.KINDS.get(task.WhichOneof("input") or "")
    if kind is None:
        raise OrderRefused("the task has no input that this agent knows")
    try:
        input = kind.read(task)
    except InputRefused as error:
        raise OrderRefused(str(error)) from None
    return Order(task.task_id, kind, task.deadline_us, task.correlation_id, input)
