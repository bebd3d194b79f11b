"""The site's hands on a node: the tasks that realize and release a lease."""

import hashlib

from penstock_contracts.wire_pb2 import DesiredAllocation, LeaseTask, SlotBinding, Task


def provision(document: DesiredAllocation, attempt: int) -> Task:
    """Give the tenant its GPUs, as a VM or as the whole host."""
    id = f"provision:{document.allocation_id}:{document.revision}:{attempt}"
    return Task(task_id=id, node_id=document.node_id, provision=_lease(document))


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
    return Task(task_id=id, node_id=document.node_id, release=_lease(document))


def _lease(document: DesiredAllocation) -> LeaseTask:
    """What the document asks for; no lease has an image, networks, volumes or access yet."""
    return LeaseTask(
        allocation_id=document.allocation_id, shape=document.shape, slots=document.slots
    )


def gpus(slots: list[SlotBinding]) -> set[str]:
    return {slot.gpu_uuid for slot in slots if not slot.chassis}
