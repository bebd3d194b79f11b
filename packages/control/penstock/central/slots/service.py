"""What may be done to slots. The caller owns the transaction."""

from penstock.central import fleet
from penstock.central.access.authorization import Resource, authorize, authorize_fleet
from penstock.central.slots import store
from penstock.central.slots.model import CHASSIS_CLEANUP, Slot, SlotState, cleanup_policy
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock_contracts.ids import AllocationId, NodeId, SlotId
from penstock_contracts.wire_pb2 import ProposedSlot, Topology


async def get(tx: Tx, actor: Actor, id: str) -> Slot:
    authorize_fleet(actor, "slot", id)
    slot = await store.get(tx, id)
    authorize(actor, "slot.view", await resource(tx, slot.node_id, slot.id))
    return slot


async def resource(tx: Tx, node_id: NodeId, id: SlotId | None) -> Resource:
    """A slot, or any slot, of a node."""
    return Resource("slot", id, site_id=await store.site_of(tx, node_id))


async def by_node(tx: Tx, ids: list[NodeId]) -> dict[NodeId, list[Slot]]:
    """The slots of nodes that the caller has been permitted to see."""
    grouped: dict[NodeId, list[Slot]] = {}
    for slot in await store.of_nodes(tx, ids):
        grouped.setdefault(slot.node_id, []).append(slot)
    return grouped


async def held_by(tx: Tx, id: AllocationId) -> list[Slot]:
    return await store.of_allocation(tx, id)


async def propose(tx: Tx, node_id: NodeId, topology: Topology) -> str:
    """Add the slots of a newly discovered node; why not, if its evidence cannot be accepted."""
    owners = await store.owner_of_gpus(tx, [slot.gpu_uuid for slot in topology.slots])
    for uuid, owner in owners.items():
        if owner != node_id:
            return f"it reports GPU {uuid}, which is node {owner}'s"
    known = [slot for slot in await store.of_nodes(tx, [node_id]) if slot.kind == "gpu"]
    if known:
        return _contradiction(known, topology)
    chassis = _chassis(node_id, topology)
    await store.add(tx, [chassis, *(_gpu(node_id, proposed) for proposed in topology.slots)])
    return ""


def _contradiction(known: list[Slot], topology: Topology) -> str:
    was = {slot.index: slot.gpu_uuid for slot in known}
    now = {slot.index: slot.gpu_uuid for slot in topology.slots}
    for index in sorted(was.keys() | now.keys()):
        if was.get(index) != now.get(index):
            return f"GPU {index} was {was.get(index, 'absent')}, is now {now.get(index, 'absent')}"
    return ""


def _chassis(node_id: NodeId, topology: Topology) -> Slot:
    return Slot(
        SlotId.new(), node_id, "chassis", 0, "", "", "", "", 0, topology.cpus,
        topology.memory_mib, CHASSIS_CLEANUP, None, 0, None, None, "",
    )  # fmt: skip


def _gpu(node_id: NodeId, proposed: ProposedSlot) -> Slot:
    return Slot(
        SlotId.new(), node_id, "gpu", proposed.index, proposed.gpu_uuid, proposed.pci_address,
        proposed.nvme_serial, proposed.fabric_guid, proposed.numa_node, proposed.cpus,
        proposed.memory_mib, cleanup_policy(proposed), None, 0, None, None, "",
    )  # fmt: skip


async def retire(tx: Tx, node_id: NodeId) -> None:
    """They go with their node. What is not proven clean stays as it is, and keeps its GPU."""
    await store.retire(tx, node_id)


async def approve(tx: Tx, actor: Actor, node_id: NodeId, only: SlotId | None) -> None:
    """Promote proposed slots of a node (or one of them) to schedulable ones."""
    authorize(actor, "slot.approve", await resource(tx, node_id, only))
    await approve_node(tx, actor, node_id, evidence="", only=only)


async def approve_node(
    tx: Tx, actor: Actor, node_id: NodeId, *, evidence: str, only: SlotId | None = None
) -> None:
    await fleet.lock(tx)
    slots = await store.of_nodes(tx, [node_id])
    wanted = [s for s in slots if s.state is SlotState.PROPOSED and only in (None, s.id)]
    if not wanted:
        return
    if unready := await store.unready(tx, node_id):
        raise Conflict(
            f"node {node_id} cannot be approved: {unready}",
            code="node_not_ready",
            suggestion="put it right; it is discovered anew whenever its agent connects",
        )
    # A new slot beside a whole-node lease could be leased as a slice of it.
    if any(slot.kind == "chassis" and slot.allocation_id for slot in slots):
        raise Conflict(
            f"node {node_id} is leased as a whole; its slots cannot be approved until it is free"
        )
    await store.approve(tx, [slot.id for slot in wanted], actor.name)
    await fleet.changed(tx, node_id)
    for slot in wanted:
        audit.record(
            tx, actor, "slot.approve", slot.id, node=node_id, reason=tx.reason or evidence,
            state=SlotState.APPROVED, before={"state": slot.state},
        )  # fmt: skip
        events.emit(tx, "slot.approved", slot.id, node=node_id, kind=slot.kind, index=slot.index)
    events.emit(tx, "node.schedulable", node_id, slots=len(wanted))
