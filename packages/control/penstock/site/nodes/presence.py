"""Which nodes are connected, and to which process: central is told of each change."""

from penstock.kernel import db
from penstock.kernel.db import Tx
from penstock.kernel.errors import Forbidden
from penstock.site import reports
from penstock.site.nodes import store
from penstock.site.nodes.model import Node
from penstock_contracts.ids import NodeId
from penstock_contracts.wire_pb2 import NodePresence, SiteReport


async def connected(tx: Tx, id: str, public_key: bytes, session: str) -> Node:
    """Its link is up. Forbidden if it is not enrolled here with this key, or not any more."""
    node = await store.get(tx, id)
    if node is None or node.public_key != public_key:
        raise Forbidden("this node is not enrolled here with this key")
    await store.connect(tx, node.id, session)
    _report(tx, node.id, connected=True)
    return node


async def disconnected(tx: Tx, id: NodeId, session: str) -> None:
    if await store.disconnect(tx, id, session):
        _report(tx, id, connected=False)


async def forget_connections(tx: Tx, executor: str) -> None:
    """Connections that died with the process that served them."""
    for id in await store.disconnect_all(tx, executor):
        _report(tx, id, connected=False)


def _report(tx: Tx, id: NodeId, *, connected: bool) -> None:
    presence = NodePresence(node_id=id, connected=connected, at_us=db.to_us(tx.now))
    reports.send(tx, SiteReport(presence=presence))
