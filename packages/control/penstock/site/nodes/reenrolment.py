"""A node that lost its key comes back with another one, and waits until an operator approved it.

The site passes on what the node says it is made of, and decides nothing: the key of a node changes
when central says so.
"""

from penstock.kernel import log, wakeups
from penstock.kernel.db import Tx
from penstock.kernel.errors import Forbidden, Invalid
from penstock.kernel.feed import Rejected
from penstock.site import reports
from penstock.site.nodes import store
from penstock.site.nodes.model import Node
from penstock_contracts import identity
from penstock_contracts.wire_pb2 import (
    Enrolment,
    EnrolRequest,
    NodeKey,
    NodeRetired,
    ReenrolmentRejected,
    ReenrolmentRequested,
    SiteReport,
)

logger = log.get(__name__)


def changed(id: str) -> str:
    """What is told when a node's key opens nothing any more."""
    return f"revoked:{id}"


async def node_of(tx: Tx, id: str, owner: Node | None) -> Node:
    """The node that a token is for; `owner` is whose key it came with, if it is anyone's."""
    node = await store.get(tx, id)
    if node is None or node.retired:
        raise Forbidden("the node that this token is for is retired; join as a new one")
    if owner is not None and owner.id != node.id:
        raise Forbidden(
            f"this key is node {owner.id}'s; it cannot become node {node.id}'s. "
            "Delete its folder, so that a new key is made"
        )
    return node


async def ask(tx: Tx, node: Node, public_key: bytes, request: EnrolRequest) -> Enrolment:
    """Pass on, once, that the node came back with this key; say what it waits for."""
    if refused := await store.rejection(tx, request.token_id):
        raise Forbidden(f"the new key of node {node.id} was rejected: {refused}")
    try:
        identity.verify(public_key, request.evidence)
    except identity.SignatureRejected:
        raise Invalid(
            "a node that comes back with a new key must say what it is made of, signed by that key"
        ) from None
    if await store.add_reenrolment(tx, request.token_id, node.id, public_key):
        reports.send(
            tx,
            SiteReport(
                reenrolment=ReenrolmentRequested(
                    node_id=node.id,
                    token_id=request.token_id,
                    public_key=public_key,
                    evidence=request.evidence,
                )
            ),
        )
    fingerprint = identity.fingerprint(public_key)
    return Enrolment(
        waits_for=f"an operator to approve key {fingerprint} for node {node.id}:"
        f" penstock reenrolment ls --node {node.id}"
    )


async def replace_key(tx: Tx, order: NodeKey) -> None:
    """An operator approved it. Links with the old key end now."""
    node = await store.get(tx, order.node_id)
    if node is None:
        raise Rejected(f"there is no node {order.node_id[:64]!r} whose key could be replaced")
    await store.set_key(tx, node.id, order.public_key)
    wakeups.notify(tx, changed(node.id))
    logger.warning(
        "the key of a node was replaced", node=node.id, key=identity.fingerprint(order.public_key)
    )


async def reject(tx: Tx, order: ReenrolmentRejected) -> None:
    await store.reject_reenrolment(tx, order.token_id, order.reason)


async def retire(tx: Tx, order: NodeRetired) -> None:
    """Its key opens nothing any more; a link that it has ends now."""
    await store.retire(tx, order.node_id)
    wakeups.notify(tx, changed(order.node_id))
    logger.info("a node was retired", node=order.node_id)
