"""All SQL that touches the nodes and node_tokens tables."""

from datetime import datetime

import asyncpg

from penstock.kernel.db import Tx
from penstock.site.nodes.model import Node
from penstock_contracts.ids import NodeId


def _node(row: asyncpg.Record) -> Node:
    return Node(NodeId(row["id"]), row["name"], bytes(row["public_key"]))


async def add_token(tx: Tx, id: str, secret_sha256: bytes, expires_at: datetime) -> None:
    await tx.execute(
        """
        INSERT INTO node_tokens (id, secret_sha256, expires_at) VALUES ($1, $2, $3)
        ON CONFLICT DO NOTHING
        """,
        id,
        secret_sha256,
        expires_at,
    )


async def use_token(tx: Tx, id: str, secret_sha256: bytes, public_key: bytes) -> bool:
    """Whether the token is this key's to use: one key wins, and may ask again."""
    used = await tx.execute(
        """
        UPDATE node_tokens SET used_by = $3
        WHERE id = $1 AND secret_sha256 = $2 AND expires_at > $4
            AND (used_by IS NULL OR used_by = $3)
        """,
        id,
        secret_sha256,
        public_key,
        tx.now,
    )
    return used > 0


async def add(tx: Tx, node: Node) -> bool:
    """False if the name is another node's."""
    added = await tx.execute(
        """
        INSERT INTO nodes (id, name, public_key, enrolled_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (name) DO NOTHING
        """,
        node.id,
        node.name,
        node.public_key,
        tx.now,
    )
    return added > 0


async def by_key(tx: Tx, public_key: bytes) -> Node | None:
    row = await tx.fetchrow(
        "SELECT id, name, public_key FROM nodes WHERE public_key = $1", public_key
    )
    return _node(row) if row else None


async def get(tx: Tx, id: str) -> Node | None:
    row = await tx.fetchrow("SELECT id, name, public_key FROM nodes WHERE id = $1", id)
    return _node(row) if row else None


async def connect(tx: Tx, id: NodeId, session: str) -> None:
    await tx.execute("UPDATE nodes SET connected = true, session = $2 WHERE id = $1", id, session)


async def disconnect(tx: Tx, id: NodeId, session: str) -> bool:
    """Only the session that connected it can disconnect it: a newer one may have begun."""
    changed = await tx.execute(
        "UPDATE nodes SET connected = false WHERE id = $1 AND session = $2 AND connected",
        id,
        session,
    )
    return changed > 0


async def disconnect_all(tx: Tx, executor: str) -> list[NodeId]:
    """Disconnect every node whose session an executor served."""
    rows = await tx.fetch(
        """
        UPDATE nodes SET connected = false
        WHERE connected AND starts_with(session, $1 || ':') RETURNING id
        """,
        executor,
    )
    return [NodeId(row["id"]) for row in rows]
