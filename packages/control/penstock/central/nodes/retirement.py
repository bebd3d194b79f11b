"""How a node leaves for good.

From the moment that its retirement is asked for, nothing new is placed there. It is retired once it
holds no lease: each is proven clean, or its release was abandoned. Then its site refuses its key,
its name is free, and what it was stays readable. There is no way back; a machine enrols anew.
"""

from penstock.central import fleet
from penstock.central.nodes import service, store
from penstock.central.nodes.model import Node, Posture
from penstock.central.sites import service as sites
from penstock.central.slots import service as slots
from penstock.kernel import audit, events, feed
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Tx
from penstock_contracts.wire_pb2 import NodeRetired, SiteOrder


async def retire(tx: Tx, actor: Actor, id: str, reason: str) -> Node:
    """Begin to retire a node, and end it if it holds nothing. Asking again changes nothing."""
    await service.permitted(tx, actor, "node.retire", id)
    await fleet.lock(tx)
    node = await store.get(tx, id)
    if node.retiring_at is not None:
        return node
    await store.set_retiring(tx, node.id, reason)
    await fleet.changed(tx, node.id)
    audit.record(
        tx, actor, "node.retire", node.id, reason=reason, state=Posture.RETIRING,
        before={"state": "in_service"},
    )  # fmt: skip
    events.emit(tx, "node.retiring", node.id, site=node.site_id, name=node.name, reason=reason)
    await settle(tx, await store.get(tx, id))
    return await store.get(tx, id)


async def settle(tx: Tx, node: Node) -> None:
    """Retire a retiring node if its last lease is over. The caller holds the fleet's lock."""
    if node.retiring_at is None or node.retired_at is not None or await store.holds(tx, node.id):
        return
    await store.set_retired(tx, node.id)
    await slots.retire(tx, node.id)
    await fleet.changed(tx, node.id)
    order = SiteOrder(site_id=node.site_id, node_retired=NodeRetired(node_id=node.id))
    feed.append(tx, sites.orders(node.site_id), order.SerializeToString(), key=node.id)
    audit.record(
        tx, SYSTEM, "node.retire", node.id, reason=node.retire_reason, state=Posture.RETIRED,
        before={"state": Posture.RETIRING},
    )  # fmt: skip
    events.emit(
        tx, "node.retired", node.id, site=node.site_id, name=node.name, reason=node.retire_reason
    )
