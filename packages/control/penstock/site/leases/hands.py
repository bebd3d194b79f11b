"""The site's hands on a node: the tasks that realize and release a lease."""

import hashlib

from penstock_contracts import wire_pb2 as wire
from penstock_contracts.wire_pb2 import DesiredAllocation, SlotBinding, Task


def provision(document: DesiredAllocation) -> Task:
    """Give the tenant its GPUs, as a VM or as the whole host."""
    task = Task(
        task_id=f"provision:{document.allocation_id}:{document.revision}",
        node_id=document.node_id,
    )
    if document.shape == wire.SHAPE_BAREMETAL:
        task.baremetal_assign.allocation_id = document.allocation_id
        task.baremetal_assign.slots.extend(document.slots)
    else:
        task.vm_provision.allocation_id = document.allocation_id
        task.vm_provision.slots.extend(document.slots)
    return task


def release(document: DesiredAllocation, attempt: int) -> Task:
    """Take the GPUs back and prove that every slot is clean."""
    return _release(document, f"release:{document.allocation_id}:{document.revision}:{attempt}")


def undo_provision(document: DesiredAllocation, attempt: int) -> Task:
    """Take back what was begun. The nonce is the site's own: this frees no slot."""
    id = f"undo:{document.allocation_id}:{document.revision}:{attempt}"
    copy = DesiredAllocation()
    copy.CopyFrom(document)
    for slot in copy.slots:
        slot.cleanup_nonce = hashlib.sha256(f"{id}:{slot.slot_id}".encode()).digest()[:16]
    return _release(copy, id)


def _release(document: DesiredAllocation, id: str) -> Task:
    task = Task(task_id=id, node_id=document.node_id)
    if document.shape == wire.SHAPE_BAREMETAL:
        task.baremetal_release.allocation_id = document.allocation_id
        task.baremetal_release.slots.extend(document.slots)
    else:
        task.vm_release.allocation_id = document.allocation_id
        task.vm_release.slots.extend(document.slots)
    return task


def gpus(slots: list[SlotBinding]) -> set[str]:
    return {slot.gpu_uuid for slot in slots if not slot.chassis}
