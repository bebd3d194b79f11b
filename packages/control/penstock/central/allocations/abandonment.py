"""The way out of a release that cannot end: an operator gives up waiting for the node.

The tenant has its quota back and pays nothing more. The slots stay claimed and blocked, as they
must: only a cleanup proof frees them. The site is asked once more, with new nonces, so that a node
that comes back cleans up and proves it. What was known when it was abandoned is kept.
"""

from dataclasses import replace
from datetime import datetime

from penstock.central import fleet
from penstock.central.access.authorization import authorize
from penstock.central.allocations import metering, nudges, release, service, store, together
from penstock.central.allocations.model import Allocation, Desired, Observed, Status
from penstock.central.nodes import retirement
from penstock.central.nodes import service as nodes
from penstock.central.nodes.model import Node
from penstock.central.sites import service as sites
from penstock.central.slots import service as slots
from penstock.central.slots.model import Slot
from penstock.kernel import audit, events, feed
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, NotFound

UNSAID = "its release was abandoned; nobody said that it had stopped"


async def abandon(tx: Tx, actor: Actor, id: str, reason: str) -> Allocation:
    """Give up waiting for the cleanup of a lease. Asking again changes nothing."""
    seen = await service.get(tx, actor, id)
    authorize(actor, "allocation.abandon", service.resource(seen))
    if seen.site_id is not None:  # as the site's own reports do, before any other lock
        await feed.hold(tx, sites.orders(seen.site_id))
    await fleet.lock(tx)
    allocation = await store.lock(tx, id)
    if allocation is None:
        raise NotFound("allocation", id)
    if allocation.abandoned_at is not None:
        return allocation
    _refuse_unless_stuck(allocation)
    held = await slots.held_by(tx, allocation.id)
    node = await nodes.get(tx, SYSTEM, allocation.where[1])
    evidence = _evidence(allocation, held, node)
    stopped = await _stop(tx, allocation)
    asked = await release.ask(tx, stopped, held)
    blocked = f"its release was abandoned: {reason}"
    for slot in held:
        await store.block(tx, slot.id, slot.fence, blocked)
    await store.abandon(tx, asked, by=actor.name, reason=reason, evidence=evidence)
    audit.record(
        tx, actor, "allocation.abandon", id, tenant_id=asked.tenant_id, reason=reason,
        status=Status.ABANDONED, evidence=evidence, before={"status": allocation.status},
    )  # fmt: skip
    events.emit(
        tx, "allocation.abandoned", asked.id, tenant_id=asked.tenant_id, by=actor.name,
        reason=reason,
    )  # fmt: skip
    await retirement.settle(tx, node)
    await together.tell(tx, allocation)
    nudges.nudge(tx)  # its quota may be what another waits for
    return replace(asked, abandoned_at=tx.now, blocked_reason=blocked)


def _refuse_unless_stuck(allocation: Allocation) -> None:
    if allocation.freed_at is not None or allocation.placed_at is None:
        raise Conflict(f"allocation {allocation.id} is {allocation.status}; it holds nothing")
    if allocation.desired is not Desired.RELEASED:
        raise Conflict(
            f"allocation {allocation.id} is {allocation.status}; only a release is abandoned",
            code="not_releasing",
            suggestion=f"release it first: POST /v1/allocations/{allocation.id}/release",
        )


async def _stop(tx: Tx, allocation: Allocation) -> Allocation:
    """Whoever was not heard to stop is taken to have stopped when its release was asked for."""
    if allocation.observed not in (Observed.NOTHING, Observed.ACTIVE):
        return allocation
    at = min(max(allocation.desired_at, allocation.observed_at or allocation.desired_at), tx.now)
    stopped = replace(
        allocation, observed=Observed.STOPPING, observed_at=at, observed_reason=UNSAID
    )
    await store.observe(tx, stopped)
    if allocation.observed is Observed.ACTIVE:
        await metering.end(tx, stopped, at)
    return stopped


def _evidence(allocation: Allocation, held: list[Slot], node: Node) -> dict[str, object]:
    """What is known of a lease whose cleanup nobody proves."""
    return {
        "status": allocation.status,
        "revision": allocation.revision,
        "desired_at": _text(allocation.desired_at),
        "observed": allocation.observed,
        "observed_at": _text(allocation.observed_at),
        "execution": allocation.execution.state,
        "execution_detail": allocation.execution.detail,
        "execution_at": _text(allocation.execution.at),
        "site": node.site_id,
        "node": node.id,
        "node_connected": node.connected,
        "node_presence_at": _text(node.presence_at),
        "node_away_reason": node.away_reason,
        "slots": [
            {"slot": slot.id, "fence": slot.fence, "reason": slot.blocked_reason} for slot in held
        ],
    }


def _text(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
