"""Giving GPUs back. The slots stay claimed until the node proves their cleanup.

A lease that waits holds nothing: its release is at once, and is a cancellation.
"""

import secrets
from dataclasses import replace
from typing import Final

from penstock.central.access.authorization import authorize
from penstock.central.allocations import members, nudges, orders, service, store, together
from penstock.central.allocations.model import Allocation, Desired
from penstock.central.slots import binding
from penstock.central.slots import service as slots
from penstock.central.slots.model import Slot, SlotState
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, NotFound
from penstock_contracts.failpoints import Failpoint
from penstock_contracts.ids import AllocationId

BEGUN: Final = Failpoint("central.release.begun")  # and not yet committed


async def release(tx: Tx, actor: Actor, id: str) -> Allocation:
    """Begin release, or cancel a wait. Asking again changes nothing."""
    await service.get(tx, actor, id)
    allocation = await store.lock(tx, id)
    if allocation is None:
        raise NotFound("allocation", id)
    authorize(actor, "allocation.release", service.resource(allocation))
    if allocation.desired is Desired.RELEASED:
        return allocation
    if allocation.placed_at is None:
        return await _cancel(tx, actor, allocation)
    begun = await begin(tx, actor, allocation)
    BEGUN.hit()
    return begun


async def begin(tx: Tx, actor: Actor, allocation: Allocation, reason: str = "") -> Allocation:
    """Begin the release of a lease that is placed; of a member, that of its whole gang."""
    if allocation.gang_id is None:
        return await give_back(tx, actor, allocation, reason)
    released = await give_back_gang(tx, actor, allocation.gang_id, reason)
    return next(member for member in released if member.id == allocation.id)


async def give_back_gang(
    tx: Tx, actor: Actor, gang_id: AllocationId, reason: str
) -> list[Allocation]:
    """All members that are not given back already. The caller holds the lead's row."""
    held = await members.of(tx, gang_id)
    released = [
        member if member.desired is Desired.RELEASED else await give_back(tx, actor, member, reason)
        for member in held
    ]
    together.compare(tx, held, released)
    return released


async def give_back(tx: Tx, actor: Actor, allocation: Allocation, reason: str = "") -> Allocation:
    """Begin the release of one that is placed: a fresh nonce for each slot's cleanup proof."""
    audit.record(
        tx, actor, "allocation.release", allocation.id, tenant_id=allocation.tenant_id,
        reason=reason, desired=Desired.RELEASED, before={"desired": allocation.desired},
    )  # fmt: skip
    events.emit(
        tx, "allocation.releasing", allocation.id, tenant_id=allocation.tenant_id, by=actor.name,
        reason=reason,
    )  # fmt: skip
    return await ask(tx, allocation, await slots.held_by(tx, allocation.id))


async def _cancel(tx: Tx, actor: Actor, allocation: Allocation) -> Allocation:
    """No site has heard of it, so there is nobody to tell but those who wait behind it."""
    cancelled = replace(
        allocation,
        desired=Desired.RELEASED,
        desired_at=tx.now,
        revision=allocation.revision + 1,
    )
    await store.desire(tx, cancelled.id, cancelled.desired, cancelled.revision)
    audit.record(
        tx, actor, "allocation.cancel", cancelled.id, tenant_id=cancelled.tenant_id,
        before={"desired": allocation.desired},
    )  # fmt: skip
    events.emit(
        tx, "allocation.cancelled", cancelled.id, tenant_id=cancelled.tenant_id, by=actor.name,
        reason=cancelled.reason,
    )  # fmt: skip
    nudges.nudge(tx)
    return cancelled


async def retry_cleanup(tx: Tx, actor: Actor, slot: Slot) -> None:
    """Ask again for the cleanup of a blocked slot, and of those released with it."""
    authorize(actor, "slot.cleanup", await slots.resource(tx, slot.node_id, slot.id))
    if slot.allocation_id is None or slot.state is not SlotState.CLEANUP_BLOCKED:
        raise Conflict(f"slot {slot.id} is {slot.state}; only a blocked cleanup can be repeated")
    allocation = await store.lock(tx, slot.allocation_id)
    if allocation is None:
        raise NotFound("slot", slot.id)
    audit.record(
        tx, actor, "slot.cleanup", slot.id, allocation=allocation.id,
        state=SlotState.CLEANING,
        before={"state": slot.state, "blocked_reason": slot.blocked_reason},
    )  # fmt: skip
    events.emit(tx, "slot.cleanup_retried", slot.id, allocation=allocation.id)
    await ask(tx, allocation, await slots.held_by(tx, allocation.id))


async def ask(tx: Tx, allocation: Allocation, held: list[Slot]) -> Allocation:
    """A new revision of the desired document, with new nonces, for the slots still held."""
    asked = replace(
        allocation,
        desired=Desired.RELEASED,
        desired_at=tx.now,
        revision=allocation.revision + 1,
        blocked_reason="",
    )
    await store.desire(tx, asked.id, asked.desired, asked.revision)
    fresh = [replace(slot, cleanup_nonce=secrets.token_bytes(16)) for slot in held]
    await store.ask_cleanup(tx, asked.id, {slot.id: slot.cleanup_nonce or b"" for slot in fresh})
    orders.send(tx, asked, [binding.of(slot) for slot in fresh])
    return asked
