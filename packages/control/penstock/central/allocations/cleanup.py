"""Cleanup proofs: what frees a slot, and nothing else does.

A proof counts for one slot if its node's key signed it, it names this slot, this
allocation, the live claim's fence and the nonce that was asked for last, and it has
every step of the slot's policy, passed. A missing step is a failure. What is not
proven stays claimed, and says why.
"""

from collections.abc import Sequence
from typing import Any

from google.protobuf.message import DecodeError

from penstock.central import fleet
from penstock.central.allocations import observation, orders, store, together
from penstock.central.allocations.model import Allocation, Desired
from penstock.central.allocations.observation import locked
from penstock.central.allocations.store import Proven
from penstock.central.nodes import retirement
from penstock.central.nodes import service as nodes
from penstock.central.slots import service as slots
from penstock.central.slots.model import Slot, SlotState
from penstock.kernel import audit, events
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Tx
from penstock.kernel.feed import Rejected
from penstock_contracts import identity
from penstock_contracts.identity import SignatureRejected
from penstock_contracts.ids import ProofId, SiteId
from penstock_contracts.wire_pb2 import CleanupProof, CleanupReported, Reported, Signed


async def reported(tx: Tx, site_id: SiteId, told: Reported, report: CleanupReported) -> None:
    await fleet.lock(tx)
    allocation = await locked(tx, site_id, told.key)
    if allocation.desired is not Desired.RELEASED:
        raise Rejected(f"nobody asked for the release of {allocation.id}")
    held = await slots.held_by(tx, allocation.id)
    if told.revision != allocation.revision or not held:
        return  # answers a request that was replaced by a newer one, or was answered already
    node = await nodes.get(tx, SYSTEM, allocation.where[1])
    proofs = {slot_of(signed): signed for signed in report.proofs}
    proven: list[Proven] = []
    for slot in held:
        signed = proofs.get(slot.id)
        fault = missing(report) if signed is None else check(signed, slot, node.public_key)
        if signed is not None and not fault:
            proven.append(Proven(ProofId.new(), slot, signed))
        else:
            await _block(tx, allocation, slot, fault)
    if proven:
        await _free(tx, allocation, proven)
    if await store.finish_if_freed(tx, allocation.id):
        await observation.freed(tx, allocation)
        events.emit(tx, "allocation.released", allocation.id, tenant_id=allocation.tenant_id)
        orders.end(tx, allocation)
        await retirement.settle(tx, node)
    await together.tell(tx, allocation)


def missing(report: CleanupReported) -> str:
    """Why a slot is blocked that no proof came for: in the node's own words, if it had any."""
    if not report.reason:
        return "no proof came for it"
    return f"the node could not clean it: {report.reason[:200]}"


def slot_of(signed: Signed) -> str:
    """Which slot a proof speaks of; not yet believed."""
    try:
        return CleanupProof.FromString(signed.payload).slot_id
    except DecodeError:
        return ""


def check(signed: Signed, slot: Slot, public_key: bytes) -> str:
    """Why the proof is not enough for the slot; empty if it is."""
    try:
        proof = CleanupProof.FromString(identity.verify(public_key, signed))
    except SignatureRejected:
        return "its proof is not signed by the node's key"
    if proof.node_id != slot.node_id or proof.slot_id != slot.id:
        return "its proof is for another slot"
    if proof.allocation_id != slot.allocation_id or proof.fence != slot.fence:
        return f"its proof is for fence {proof.fence}, not {slot.fence}"
    if slot.cleanup_nonce is None or proof.nonce != slot.cleanup_nonce:
        return "its proof does not answer what was asked last"
    return _shortcoming(proof, slot.cleanup_steps)


def _shortcoming(proof: CleanupProof, required: Sequence[str]) -> str:
    """The first required step that is missing or failed; a step told twice must pass twice."""
    for name in required:
        results = [step for step in proof.steps if step.name == name]
        if not results:
            return f"step {name} is missing from its proof"
        for step in results:
            if not step.passed:
                return f"step {name} failed: {step.detail[:200]}"
    return ""


async def _free(tx: Tx, allocation: Allocation, proven: list[Proven]) -> None:
    await store.free(tx, allocation, proven)
    ids = [one.slot.id for one in proven]
    await fleet.freed(tx, allocation.where[1], ids, allocation.id, allocation.tenant_id)
    for one in proven:
        slot = one.slot
        audit.record(
            tx, SYSTEM, "slot.free", slot.id,
            tenant_id=allocation.tenant_id, proof=one.id, fence=slot.fence,
            before={"state": slot.state, "allocation": allocation.id},
        )  # fmt: skip
        events.emit(
            tx, "slot.cleanup_proven", allocation.id, tenant_id=allocation.tenant_id,
            **_about(allocation, slot), proof=one.id,
        )  # fmt: skip


async def _block(tx: Tx, allocation: Allocation, slot: Slot, fault: str) -> None:
    await store.block(tx, slot.id, slot.fence, fault)
    audit.record(
        tx, SYSTEM, "slot.block", slot.id, tenant_id=allocation.tenant_id, reason=fault,
        state=SlotState.CLEANUP_BLOCKED, before={"state": slot.state},
    )  # fmt: skip
    events.emit(
        tx, "slot.cleanup_blocked", allocation.id, tenant_id=allocation.tenant_id,
        **_about(allocation, slot), reason=fault,
    )  # fmt: skip


def _about(allocation: Allocation, slot: Slot) -> dict[str, Any]:
    """Told of the allocation, so that its tenant sees it and it is in the timeline."""
    return {"slot": slot.id, "allocation": allocation.id, "fence": slot.fence}
