"""Slots over HTTP."""

from fastapi import APIRouter

from penstock.central.slots import service
from penstock.central.slots.model import Slot
from penstock.kernel.http.web import Caller, Tx, TxRoute, View

router = APIRouter(prefix="/v1/slots", tags=["slots"], route_class=TxRoute)


class SlotView(View):
    id: str
    node: str
    kind: str
    index: int
    state: str
    reason: str
    allocation: str | None
    fence: int
    gpu_uuid: str
    pci_address: str
    nvme_serial: str
    fabric_guid: str
    numa_node: int
    cpus: int
    memory_mib: int
    cleanup_steps: list[str]

    @classmethod
    def of(cls, slot: Slot) -> "SlotView":
        return cls(
            id=slot.id,
            node=slot.node_id,
            kind=slot.kind,
            index=slot.index,
            state=slot.state,
            reason=slot.blocked_reason,
            allocation=slot.allocation_id,
            fence=slot.fence,
            gpu_uuid=slot.gpu_uuid,
            pci_address=slot.pci_address,
            nvme_serial=slot.nvme_serial,
            fabric_guid=slot.fabric_guid,
            numa_node=slot.numa_node,
            cpus=slot.cpus,
            memory_mib=slot.memory_mib,
            cleanup_steps=list(slot.cleanup_steps),
        )


@router.get("/{id}")
async def get_slot(id: str, actor: Caller, tx: Tx) -> SlotView:
    """One slot."""
    return SlotView.of(await service.get(tx, actor, id))


@router.post("/{id}/approve", status_code=200)
async def approve_slot(id: str, actor: Caller, tx: Tx) -> SlotView:
    """Make a proposed slot schedulable."""
    slot = await service.get(tx, actor, id)
    await service.approve(tx, actor, slot.node_id, slot.id)
    return SlotView.of(await service.get(tx, actor, id))
