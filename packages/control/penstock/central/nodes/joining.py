"""Tokens that name a node: another machine takes its place, or it comes back under a new key."""

from penstock.central.nodes import service, store
from penstock.central.nodes.model import Purpose
from penstock.central.sites import service as sites
from penstock.central.sites.service import IssuedToken, Trust
from penstock.kernel import audit, feed
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock_contracts.ids import NodeId, SiteId
from penstock_contracts.wire_pb2 import NodeKey, SiteOrder


async def replace(tx: Tx, actor: Actor, id: str, trust: Trust) -> IssuedToken:
    """A token with which a machine joins under a retired node's name, as a node of its own."""
    node = await service.permitted(tx, actor, "node.replace", id)
    if node.retired_at is None:
        raise Conflict(
            f"node {node.id} is not retired, so nothing can take its place",
            code="node_not_retired",
            suggestion=f"retire it first: POST /v1/nodes/{node.id}/retire; a lease that its dead"
            " machine cannot clean is released, then abandoned",
        )
    if node.replaced_by is not None:
        raise Conflict(
            f"node {node.id} was replaced by {node.replaced_by} already", code="node_replaced"
        )
    site = await sites.get(tx, SYSTEM, node.site_id)
    token = sites.issue_node_token(tx, site, trust, name=node.name)
    await store.add_token(tx, token.id, node.id, Purpose.REPLACE, token.expires_at)
    audit.record(tx, actor, "node.replace", node.id, token=token.id, name=node.name)
    return token


async def rejoin(tx: Tx, actor: Actor, id: str, trust: Trust) -> IssuedToken:
    """A token with which a node that lost its key asks to come back. An operator then decides."""
    node = await service.permitted(tx, actor, "node.rejoin", id)
    service.refuse_retired(node)
    site = await sites.get(tx, SYSTEM, node.site_id)
    token = sites.issue_node_token(tx, site, trust, rejoins=node.id)
    await store.add_token(tx, token.id, node.id, Purpose.REJOIN, token.expires_at)
    audit.record(tx, actor, "node.rejoin", node.id, token=token.id)
    return token


async def take_place(tx: Tx, site_id: SiteId, id: NodeId, token_id: str) -> None:
    """Note whose place a new node took, if it joined with a token for that."""
    replaced = await store.named_by(tx, token_id, Purpose.REPLACE)
    if replaced is None:
        return
    old = await store.get(tx, replaced)
    if old.site_id == site_id and old.replaced_by is None:
        await store.set_replaces(tx, id, old.id)


async def rejoins(tx: Tx, token_id: str) -> NodeId | None:
    """The node that may come back with this token."""
    return await store.named_by(tx, token_id, Purpose.REJOIN)


async def replace_key(tx: Tx, site_id: SiteId, id: NodeId, public_key: bytes) -> None:
    """From now on the node is who holds this key. Whoever calls this has an operator's word."""
    await store.set_key(tx, id, public_key)
    order = SiteOrder(site_id=site_id, node_key=NodeKey(node_id=id, public_key=public_key))
    feed.append(tx, sites.orders(site_id), order.SerializeToString(), key=id)
