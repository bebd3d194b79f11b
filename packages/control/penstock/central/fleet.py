"""The fleet's lock and its change log.

Whoever changes what can be placed (claims, slots, nodes) first takes the fleet's lock,
then says which node changed. So a holder of the lock knows, from its own revision and
the log, exactly what is free: the lock is the leader.
"""

from typing import Final

from penstock.kernel import feed
from penstock.kernel.db import Tx
from penstock_contracts.ids import NodeId

FEED: Final = "fleet"
LOCK: Final = 0x464C4545  # "FLEE"


async def lock(tx: Tx) -> None:
    """Held until the transaction ends. Take it before any row of the fleet."""
    await tx.lock(LOCK)


def touch(tx: Tx, node_id: NodeId) -> None:
    """The node, its slots or their claims changed."""
    feed.append(tx, FEED, b"", key=node_id)


async def changed_since(tx: Tx, revision: int) -> tuple[list[NodeId], int]:
    """The nodes that changed after `revision`, and the revision now."""
    rows = await tx.fetch(
        "SELECT key, seq FROM feed_entries WHERE feed = $1 AND seq > $2 ORDER BY seq",
        FEED,
        revision,
    )
    return [NodeId(row["key"]) for row in rows], rows[-1]["seq"] if rows else revision
