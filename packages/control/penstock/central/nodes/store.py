"""All SQL that touches the nodes table."""

from typing import Any

import asyncpg

from penstock.central.nodes.model import Node
from penstock.kernel.db import Tx
from penstock.kernel.errors import NotFound
from penstock_contracts.ids import NodeId, SiteId

COLUMNS = (
    "id, site_id, name, public_key, hardware, family, fault, draining, drain_reason, "
    "connected, presence_at, enrolled_at"
)


def _node(row: asyncpg.Record) -> Node:
    values: dict[str, Any] = dict(row)  # its columns are the fields of Node
    values["id"] = NodeId(values["id"])
    values["site_id"] = SiteId(values["site_id"])
    return Node(**values)


async def put(tx: Tx, id: NodeId, site_id: SiteId, name: str, public_key: bytes) -> bool:
    """Add a node, or renew its key. False if it is another site's."""
    changed = await tx.execute(
        """
        INSERT INTO nodes (id, site_id, name, public_key, enrolled_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (id) DO UPDATE SET public_key = excluded.public_key
            WHERE nodes.site_id = excluded.site_id
        """,
        id,
        site_id,
        name,
        public_key,
        tx.now,
    )
    return changed > 0


async def get(tx: Tx, id: str) -> Node:
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM nodes WHERE id = $1", id)
    if row is None:
        raise NotFound("node", id)
    return _node(row)


async def find(tx: Tx, ids: list[NodeId] | None) -> list[Node]:
    """These nodes, or all."""
    rows = await tx.fetch(
        f"SELECT {COLUMNS} FROM nodes WHERE $1::text[] IS NULL OR id = ANY($1)", ids
    )
    return [_node(row) for row in rows]


async def page(tx: Tx, site_id: str | None, after: str, limit: int) -> list[Node]:
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM nodes
        WHERE id > $2 AND ($1::text IS NULL OR site_id = $1) ORDER BY id LIMIT $3
        """,
        site_id,
        after,
        limit,
    )
    return [_node(row) for row in rows]


async def set_draining(tx: Tx, id: NodeId, draining: bool, reason: str) -> None:
    await tx.execute(
        "UPDATE nodes SET draining = $2, drain_reason = $3 WHERE id = $1", id, draining, reason
    )


async def set_presence(tx: Tx, id: NodeId, connected: bool) -> None:
    await tx.execute(
        "UPDATE nodes SET connected = $2, presence_at = $3 WHERE id = $1", id, connected, tx.now
    )


async def set_topology(
    tx: Tx, id: NodeId, *, hardware: str, family: str, topology: dict[str, object]
) -> None:
    await tx.execute(
        "UPDATE nodes SET hardware = $2, family = $3, topology = $4, fault = '' WHERE id = $1",
        id,
        hardware,
        family,
        topology,
    )


async def set_fault(tx: Tx, id: NodeId, fault: str) -> None:
    await tx.execute("UPDATE nodes SET fault = $2 WHERE id = $1", id, fault)
