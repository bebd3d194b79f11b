"""What may be done to a re-enrolment. The caller owns the transaction.

An operator of the platform decides; that is the only way in which the key that vouches for a node's
proofs is ever replaced.
"""

from typing import Final

from penstock.central import fleet
from penstock.central.access.authorization import (
    Resource,
    authorize,
    authorize_fleet,
    authorize_list,
)
from penstock.central.allocations import losses
from penstock.central.nodes import joining
from penstock.central.nodes import service as nodes
from penstock.central.reenrolments import model, orders, store
from penstock.central.reenrolments.model import Outcome, Reenrolment
from penstock.kernel import audit, events
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock_contracts import identity

LOST: Final = "its node lost its key, and what it knew of its leases"
OUTDONE: Final = "another key of this node was approved"


async def get(tx: Tx, actor: Actor, id: str) -> Reenrolment:
    return await _permitted(tx, actor, "reenrolment.view", id)


async def page(
    tx: Tx, actor: Actor, *, node_id: str | None, status: Outcome | None, after: str, limit: int
) -> list[Reenrolment]:
    reach = authorize_list(actor, "reenrolment")
    return await store.page(tx, reach, node_id=node_id, status=status, after=after, limit=limit)


async def approve(tx: Tx, actor: Actor, id: str, reason: str) -> Reenrolment:
    """Let the node come back under the new key: the old one opens nothing any more, and the leases
    that it held end. Asking again changes nothing."""
    found = await _undecided(tx, actor, "reenrolment.approve", id, Outcome.APPROVED)
    if found.status is Outcome.APPROVED:
        return found
    node = await nodes.get(tx, SYSTEM, found.node_id)
    nodes.refuse_retired(node)
    if differs := model.other_hardware(found.parts):
        raise Conflict(
            f"this is not the hardware of node {node.id}: {differs}",
            code="hardware_differs",
            suggestion="reject it; retire the node, and have this machine join in its place",
        )
    await joining.replace_key(tx, node.site_id, node.id, found.public_key)
    ended = await losses.release_all(tx, node.id, LOST)
    await store.decide(tx, found.id, Outcome.APPROVED, actor.name, reason)
    new, old = (identity.fingerprint(key) for key in (found.public_key, node.public_key))
    audit.record(
        tx, actor, "reenrolment.approve", found.id, node=node.id, reason=reason, key=new,
        released=ended, before={"key": old},
    )  # fmt: skip
    events.emit(
        tx, "reenrolment.approved", found.id, node=node.id, site=node.site_id, key=new,
        released=ended, reason=reason,
    )  # fmt: skip
    for other in await store.waiting_of(tx, node.id):
        await _reject(tx, SYSTEM, other, OUTDONE)
    return await store.get(tx, found.id)


async def reject(tx: Tx, actor: Actor, id: str, reason: str) -> Reenrolment:
    """Refuse the new key. Whoever asked is told why. Asking again changes nothing."""
    found = await _undecided(tx, actor, "reenrolment.reject", id, Outcome.REJECTED)
    if found.status is Outcome.REJECTED:
        return found
    await _reject(tx, actor, found, reason)
    return await store.get(tx, found.id)


async def _reject(tx: Tx, actor: Actor, found: Reenrolment, reason: str) -> None:
    await store.decide(tx, found.id, Outcome.REJECTED, actor.name, reason)
    orders.reject(tx, found.site_id, found.token_id, reason)
    audit.record(
        tx, actor, "reenrolment.reject", found.id, node=found.node_id, reason=reason,
        status=Outcome.REJECTED, before={"status": found.status},
    )  # fmt: skip
    events.emit(
        tx, "reenrolment.rejected", found.id, node=found.node_id, site=found.site_id, reason=reason
    )


async def _undecided(tx: Tx, actor: Actor, action: str, id: str, wanted: Outcome) -> Reenrolment:
    """Under the fleet's lock, so that of two decisions one is the first."""
    await _permitted(tx, actor, action, id)
    await fleet.lock(tx)
    found = await store.get(tx, id)
    if found.status not in (Outcome.WAITING, wanted):
        raise Conflict(
            f"re-enrolment {found.id} is {found.status}; it cannot become {wanted}",
            code="already_decided",
            suggestion=f"for another try: POST /v1/nodes/{found.node_id}/rejoin-token",
        )
    return found


async def _permitted(tx: Tx, actor: Actor, action: str, id: str) -> Reenrolment:
    authorize_fleet(actor, "reenrolment", id)
    found = await store.get(tx, id)
    authorize(actor, action, Resource("reenrolment", found.id, site_id=found.site_id))
    return found
