"""What may be done to a node. The caller owns the transaction."""

from typing import Final

from google.protobuf import json_format

from penstock.central import fleet
from penstock.central.access.authorization import (
    Resource,
    authorize,
    authorize_fleet,
    authorize_list,
)
from penstock.central.nodes import store
from penstock.central.nodes.model import Changes, Node
from penstock.central.tenants import service as tenants
from penstock.central.tenants.model import Status
from penstock.kernel import audit, events
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, Invalid, NotFound
from penstock_contracts.ids import NodeId, TenantId
from penstock_contracts.wire_pb2 import Topology

FIELDS: Final = {"leaf_assigned": "leaf"}  # columns whose value a node has under another name


async def get(tx: Tx, actor: Actor, id: str) -> Node:
    return await permitted(tx, actor, "node.view", id)


def resource(node: Node) -> Resource:
    return Resource("node", node.id, site_id=node.site_id)


async def permitted(tx: Tx, actor: Actor, action: str, id: str) -> Node:
    authorize_fleet(actor, "node", id)
    node = await store.get(tx, id)
    authorize(actor, action, resource(node))
    return node


async def find(tx: Tx, ids: list[NodeId] | None) -> list[Node]:
    """These nodes, or all: for the solver, whose answer says nothing of them."""
    return await store.find(tx, ids)


async def page(
    tx: Tx, actor: Actor, site_id: str | None, after: str, limit: int, *, retired: bool
) -> list[Node]:
    reach = authorize_list(actor, "node")
    return await store.page(tx, reach, site_id, after, limit, retired=retired)


def refuse_retired(node: Node) -> None:
    if node.retired_at is not None:
        raise Conflict(
            f"node {node.id} is retired; nothing about it changes any more",
            code="node_retired",
            suggestion=f"enrol a machine in its place: POST /v1/nodes/{node.id}/replace",
        )


async def change(tx: Tx, actor: Actor, id: str, changes: Changes) -> Node:
    """What policy goes by: tags, for whom it is reserved, its price, its fabric leaf."""
    await permitted(tx, actor, "node.update", id)
    await fleet.lock(tx)
    node = await store.get(tx, id)
    refuse_retired(node)
    if not changes:
        return node
    if reserved_for := changes.get("reserved_for"):
        changes = {**changes, "reserved_for": await _tenant(tx, reserved_for)}
    await store.change(tx, node.id, changes)
    await fleet.changed(tx, node.id)
    was = {name: getattr(node, FIELDS.get(name, name)) for name in changes}
    audit.record(tx, actor, "node.update", node.id, **changes, before=was)
    events.emit(tx, "node.updated", node.id, **changes)
    return await store.get(tx, id)


async def unreserve(tx: Tx, actor: Actor, tenant_id: TenantId) -> None:
    """Nothing is kept for a tenant that is gone. The caller holds the fleet's lock."""
    ids = await store.unreserve(tx, tenant_id)
    await fleet.changed(tx, *ids)
    for id in ids:
        before = {"reserved_for": tenant_id}
        audit.record(tx, actor, "node.update", id, reserved_for=None, before=before)
        events.emit(tx, "node.updated", id, reserved_for=None)


async def _tenant(tx: Tx, reference: str) -> TenantId:
    try:
        tenant = await tenants.get(tx, SYSTEM, reference)
    except NotFound as missing:
        raise Invalid(f"reserved_for: {missing.detail}", code="unknown_tenant") from None
    if tenant.status is Status.OFFBOARDED:
        raise Invalid(f"reserved_for: tenant {reference} is offboarded", code="unknown_tenant")
    return tenant.id


async def drain(tx: Tx, actor: Actor, id: str, *, draining: bool, reason: str) -> Node:
    """Stop (or resume) placing on a node. Leases that run there go on."""
    await permitted(tx, actor, "node.drain", id)
    await fleet.lock(tx)
    node = await store.get(tx, id)
    refuse_retired(node)
    if node.draining == draining:
        return node
    await store.set_draining(tx, node.id, draining, reason)
    await fleet.changed(tx, node.id)
    verb = "drain" if draining else "undrain"
    was = {"draining": node.draining, "drain_reason": node.drain_reason}
    audit.record(tx, actor, f"node.{verb}", node.id, reason=reason, draining=draining, before=was)
    happened = "node.drained" if draining else "node.undrained"
    events.emit(tx, happened, node.id, reason=reason)
    return await store.get(tx, id)


async def topology(tx: Tx, id: NodeId) -> Topology:
    """What the node last said that it is made of; nothing, if it never did."""
    said = await store.topology(tx, id)
    return json_format.ParseDict(said or {}, Topology())


async def owner_of_key(tx: Tx, public_key: bytes) -> NodeId | None:
    return await store.by_key(tx, public_key)
