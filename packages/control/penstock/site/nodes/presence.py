"""Which nodes are connected, and to which process: central is told of each change.

Central hears that a node is there when it may be given work. One whose link does not hold may
not, so central hears nothing of its coming and going; only that, and why.
"""

from dataclasses import dataclass, replace

from penstock.kernel import db, wakeups
from penstock.kernel.db import Tx
from penstock.kernel.errors import Forbidden
from penstock.site import reports
from penstock.site.nodes import enrolment, store
from penstock.site.nodes.model import Node
from penstock.site.nodes.store import Connection
from penstock_contracts.ids import NodeId
from penstock_contracts.wire_pb2 import NodePresence, SiteReport

REASON_LENGTH_MAX = 300


@dataclass(frozen=True)
class Ending:
    """How a link ended. Nobody is to blame if its certificate ran out or the site stops."""

    fault: str = ""  # what the protocol does not allow; empty if it just ended
    blameless: bool = False


def back(id: str) -> str:
    """What is told when a node's link is up."""
    return f"connected:{id}"


async def connected(
    tx: Tx, id: str, public_key: bytes, session: str, hold_s: float
) -> tuple[Node, float]:
    """Its link is up; in how many seconds it may be given work, if the link holds.

    Forbidden if it is not enrolled here with this key, or not any more.
    """
    node = await enrolled(tx, id, public_key)
    before = await store.connection(tx, node.id)
    if before.connected and before.session != session:  # it takes over from one that did not end
        before = _ended(tx, before, Ending(), hold_s)
    wait_s = before.steadiness.hold_s(tx.now, hold_s)
    now = replace(before, connected=True, session=session, began=tx.now)
    if wait_s == 0:
        now = _tell(tx, now, present=True)
    await store.keep_connection(tx, now)
    wakeups.notify(tx, back(node.id))
    return node, wait_s


async def enrolled(tx: Tx, id: str, public_key: bytes) -> Node:
    """The node, if this is its key now. Forbidden if it is not, or not any more."""
    node = await store.get(tx, id)
    enrolment.refuse_retired(node)
    if node is None or node.public_key != public_key:
        raise Forbidden("this node is not enrolled here with this key")
    return node


async def is_retired(tx: Tx, id: str) -> bool:
    node = await store.get(tx, id)
    return node is not None and node.retired


async def is_connected(tx: Tx, id: str) -> bool:
    """Whether its link is up, steady or not."""
    return await store.is_connected(tx, id)


async def held(tx: Tx, id: NodeId, session: str) -> bool:
    """Its link has held: from now on it may be given work. False if that link is gone."""
    now = await store.connection(tx, id)
    if not now.connected or now.session != session:
        return False
    await store.keep_connection(tx, _tell(tx, now, present=True))
    return True


async def disconnected(tx: Tx, id: NodeId, session: str, ending: Ending, hold_s: float) -> None:
    """Only the session that connected it can disconnect it: a newer one may have begun."""
    before = await store.connection(tx, id)
    if not before.connected or before.session != session:
        return
    now = before if ending.blameless else _ended(tx, before, ending, hold_s)
    await store.keep_connection(tx, _tell(tx, replace(now, connected=False), present=False))


async def forget_connections(tx: Tx, executor: str) -> None:
    """Connections that died with the process that served them."""
    for left in await store.connections_of(tx, executor):
        await store.keep_connection(tx, _tell(tx, replace(left, connected=False), present=False))


def _ended(tx: Tx, before: Connection, ending: Ending, hold_s: float) -> Connection:
    """One more end of a link; if it is one too many, the node is no longer there for work."""
    faulty = bool(ending.fault)
    steadiness = before.steadiness.ended(before.began, tx.now, faulty=faulty)
    now = replace(before, steadiness=steadiness)
    if steadiness.hold_s(tx.now, hold_s) == 0:
        return now
    why = ending.fault or f"it ended {steadiness.recent(tx.now)} times within minutes"
    reason = f"its link does not hold: {why}"
    return _tell(tx, now, present=False, reason=reason[:REASON_LENGTH_MAX])


def _tell(tx: Tx, now: Connection, *, present: bool, reason: str = "") -> Connection:
    """Tell central, if that is news."""
    if now.present != present:
        presence = NodePresence(
            node_id=now.node_id, connected=present, at_us=db.to_us(tx.now), reason=reason
        )
        reports.send(tx, SiteReport(presence=presence))
    return replace(now, present=present)
