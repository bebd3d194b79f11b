"""All SQL that touches the nodes table."""

from typing import Any

import asyncpg

from penstock.central.access.authorization import Reach
from penstock.central.nodes.model import Changes, Node
from penstock.kernel.db import Tx
from penstock.kernel.errors import NotFound
from penstock_contracts.ids import NodeId, SiteId, TenantId

# What is true of its site is true of the node, and comes with it.
SELECT = """
    SELECT n.id, n.site_id, n.name, n.public_key, n.hardware, n.family, n.fault, n.unready,
        n.draining, n.drain_reason, n.connected, n.away_reason, n.presence_at, n.enrolled_at,
        n.topology IS NOT NULL AS discovered, coalesce(n.leaf_assigned, n.leaf) AS leaf, n.tags,
        n.reserved_for, n.price_micros_per_gpu_hour, s.tags AS site_tags, s.away AS site_away
    FROM nodes n JOIN sites s ON s.id = n.site_id
"""


def _node(row: asyncpg.Record) -> Node:
    values: dict[str, Any] = dict(row)  # its columns are the fields of Node
    values["id"] = NodeId(values["id"])
    values["site_id"] = SiteId(values["site_id"])
    values["tags"] = tuple(values["tags"])
    values["site_tags"] = tuple(values["site_tags"])
    reserved_for: str | None = values["reserved_for"]
    values["reserved_for"] = TenantId(reserved_for) if reserved_for else None
    return Node(**values)


async def put(tx: Tx, id: NodeId, site_id: SiteId, name: str, public_key: bytes) -> bool:
    """Add a node, or find it. False if it is another site's, or has another key."""
    changed = await tx.execute(
        """
        INSERT INTO nodes (id, site_id, name, public_key, enrolled_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (id) DO UPDATE SET public_key = excluded.public_key
            WHERE (nodes.site_id, nodes.public_key) = (excluded.site_id, excluded.public_key)
        """,
        id,
        site_id,
        name,
        public_key,
        tx.now,
    )
    return changed > 0


async def get(tx: Tx, id: str) -> Node:
    row = await tx.fetchrow(f"{SELECT} WHERE n.id = $1", id)
    if row is None:
        raise NotFound("node", id)
    return _node(row)


async def find(tx: Tx, ids: list[NodeId] | None) -> list[Node]:
    """These nodes, or all."""
    rows = await tx.fetch(f"{SELECT} WHERE $1::text[] IS NULL OR n.id = ANY($1)", ids)
    return [_node(row) for row in rows]


async def page(tx: Tx, reach: Reach, site_id: str | None, after: str, limit: int) -> list[Node]:
    rows = await tx.fetch(
        f"""
        {SELECT} WHERE n.id > $2 AND ($1::text IS NULL OR n.site_id = $1)
            AND ($4 OR n.site_id = ANY($5))
        ORDER BY n.id LIMIT $3
        """,
        site_id,
        after,
        limit,
        reach.whole,
        reach.sites,
    )
    return [_node(row) for row in rows]


async def change(tx: Tx, id: NodeId, changes: Changes) -> None:
    """Only what is given: its names are columns."""
    given: dict[str, object] = {**changes}
    columns = ", ".join(f"{name} = ${at}" for at, name in enumerate(given, start=2))
    await tx.execute(f"UPDATE nodes SET {columns} WHERE id = $1", id, *given.values())


async def unreserve(tx: Tx, tenant_id: TenantId) -> list[NodeId]:
    rows = await tx.fetch(
        "UPDATE nodes SET reserved_for = NULL WHERE reserved_for = $1 RETURNING id", tenant_id
    )
    return [NodeId(row["id"]) for row in rows]


async def set_draining(tx: Tx, id: NodeId, draining: bool, reason: str) -> None:
    await tx.execute(
        "UPDATE nodes SET draining = $2, drain_reason = $3 WHERE id = $1", id, draining, reason
    )


async def set_presence(tx: Tx, id: NodeId, connected: bool, away_reason: str) -> None:
    await tx.execute(
        "UPDATE nodes SET connected = $2, presence_at = $3, away_reason = $4 WHERE id = $1",
        id,
        connected,
        tx.now,
        away_reason,
    )


async def set_topology(
    tx: Tx,
    id: NodeId,
    *,
    hardware: str,
    family: str,
    leaf: str,
    unready: str,
    topology: dict[str, object],
) -> None:
    await tx.execute(
        """
        UPDATE nodes SET hardware = $2, family = $3, leaf = $4, topology = $5, unready = $6,
            fault = ''
        WHERE id = $1
        """,
        id,
        hardware,
        family,
        leaf,
        topology,
        unready,
    )


async def set_fault(tx: Tx, id: NodeId, fault: str) -> None:
    await tx.execute("UPDATE nodes SET fault = $2 WHERE id = $1", id, fault)
