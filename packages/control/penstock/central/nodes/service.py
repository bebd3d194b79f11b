"""What may be done to a node. The caller owns the transaction."""

from penstock.central import fleet
from penstock.central.access.authorization import Resource, authorize
from penstock.central.nodes import store
from penstock.central.nodes.model import Node
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock_contracts.ids import NodeId


async def get(tx: Tx, actor: Actor, id: str) -> Node:
    authorize(actor, "node.view", Resource("node", id))
    return await store.get(tx, id)


async def find(tx: Tx, ids: list[NodeId] | None) -> list[Node]:
    """These nodes, or all: for the solver, whose answer says nothing of them."""
    return await store.find(tx, ids)


async def page(tx: Tx, actor: Actor, site_id: str | None, after: str, limit: int) -> list[Node]:
    authorize(actor, "node.view", Resource("node"))
    return await store.page(tx, site_id, after, limit)


async def drain(tx: Tx, actor: Actor, id: str, *, draining: bool, reason: str) -> Node:
    """Stop (or resume) placing on a node. Leases that run there go on."""
    authorize(actor, "node.drain", Resource("node", id))
    await fleet.lock(tx)
    node = await store.get(tx, id)
    if node.draining == draining:
        return node
    await store.set_draining(tx, node.id, draining, reason)
    await fleet.changed(tx, node.id)
    verb = "drain" if draining else "undrain"
    audit.record(tx, actor, f"node.{verb}", node.id, reason=reason)
    events.emit(tx, f"node.{verb}ed", node.id, reason=reason)
    return await store.get(tx, id)
