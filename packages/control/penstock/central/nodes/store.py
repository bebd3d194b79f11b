"""All SQL that touches the nodes and node_tokens tables."""

from datetime import datetime
from typing import Any

import asyncpg

from penstock.central.access.authorization import Reach
from penstock.central.nodes.model import Changes, Node, Purpose
from penstock.kernel.db import Tx
from penstock.kernel.errors import NotFound
from penstock_contracts.ids import NodeId, SiteId, TenantId, TokenId

# What is true of its site is true of the node, and comes with it.
SELECT = """
    SELECT n.id, n.site_id, n.name, n.public_key, n.hardware, n.family, n.fault, n.unready,
        n.draining, n.drain_reason, n.connected, n.away_reason, n.presence_at, n.enrolled_at,
        n.topology IS NOT NULL AS discovered, coalesce(n.leaf_assigned, n.leaf) AS leaf, n.tags,
        n.reserved_for, n.price_micros_per_gpu_hour, s.tags AS site_tags, s.away AS site_away,
        n.retiring_at, n.retired_at, n.retire_reason, n.replaces,
        (SELECT r.id FROM nodes r WHERE r.replaces = n.id) AS replaced_by
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
    for other in ("replaces", "replaced_by"):
        values[other] = NodeId(values[other]) if values[other] else None
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


async def page(
    tx: Tx, reach: Reach, site_id: str | None, after: str, limit: int, *, retired: bool
) -> list[Node]:
    rows = await tx.fetch(
        f"""
        {SELECT} WHERE n.id > $2 AND ($1::text IS NULL OR n.site_id = $1)
            AND ($4 OR n.site_id = ANY($5)) AND ($6 OR n.retired_at IS NULL)
        ORDER BY n.id LIMIT $3
        """,
        site_id,
        after,
        limit,
        reach.whole,
        reach.sites,
        retired,
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


async def topology(tx: Tx, id: NodeId) -> dict[str, Any] | None:
    """What it last said that it is made of; None until it was discovered."""
    said: dict[str, Any] | None = await tx.fetchval("SELECT topology FROM nodes WHERE id = $1", id)
    return said


async def by_key(tx: Tx, public_key: bytes) -> NodeId | None:
    id: str | None = await tx.fetchval("SELECT id FROM nodes WHERE public_key = $1", public_key)
    return NodeId(id) if id else None


async def set_key(tx: Tx, id: NodeId, public_key: bytes) -> None:
    await tx.execute("UPDATE nodes SET public_key = $2 WHERE id = $1", id, public_key)


async def set_retiring(tx: Tx, id: NodeId, reason: str) -> None:
    await tx.execute(
        "UPDATE nodes SET retiring_at = $2, retire_reason = $3 WHERE id = $1", id, tx.now, reason
    )


async def set_retired(tx: Tx, id: NodeId) -> None:
    await tx.execute(
        """
        UPDATE nodes SET retired_at = $2, connected = false, away_reason = '', reserved_for = NULL
        WHERE id = $1
        """,
        id,
        tx.now,
    )


async def holds(tx: Tx, id: NodeId) -> bool:
    """Whether it holds a lease that nobody gave up waiting for."""
    return bool(
        await tx.fetchval(
            "SELECT EXISTS (SELECT FROM node_holdings WHERE node_id = $1 AND NOT abandoned)", id
        )
    )


async def set_replaces(tx: Tx, id: NodeId, replaced: NodeId) -> None:
    await tx.execute("UPDATE nodes SET replaces = $2 WHERE id = $1", id, replaced)


async def add_token(
    tx: Tx, id: TokenId, node_id: NodeId, purpose: Purpose, expires_at: datetime
) -> None:
    await tx.execute(
        """
        INSERT INTO node_tokens (id, node_id, purpose, expires_at, created_at)
        VALUES ($1, $2, $3, $4, $5)
        """,
        id,
        node_id,
        purpose,
        expires_at,
        tx.now,
    )


async def named_by(tx: Tx, token_id: str, purpose: Purpose) -> NodeId | None:
    """The node that a token for this purpose was made for."""
    id: str | None = await tx.fetchval(
        "SELECT node_id FROM node_tokens WHERE id = $1 AND purpose = $2", token_id, purpose
    )
    return NodeId(id) if id else None
