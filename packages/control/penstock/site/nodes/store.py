"""All SQL that touches the nodes, node_tokens and reenrolments tables."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import asyncpg

from penstock.kernel.db import Tx
from penstock.site.nodes.model import Node, Token
from penstock.site.nodes.steadiness import Steadiness
from penstock_contracts.ids import NodeId

ANYONE: Final = Token()
SELECT: Final = "SELECT id, name, public_key, retired_at IS NOT NULL AS retired FROM nodes"


def _node(row: asyncpg.Record) -> Node:
    return Node(NodeId(row["id"]), row["name"], bytes(row["public_key"]), row["retired"])


async def add_token(
    tx: Tx, id: str, secret_sha256: bytes, expires_at: datetime, token: Token = ANYONE
) -> None:
    await tx.execute(
        """
        INSERT INTO node_tokens (id, secret_sha256, expires_at, name, rejoins)
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
        """,
        id,
        secret_sha256,
        expires_at,
        token.name,
        token.rejoins,
    )


async def use_token(tx: Tx, id: str, secret_sha256: bytes, public_key: bytes) -> Token | None:
    """The token, if it is this key's to use: one key wins, and may ask again for ever, since an
    operator's decision may take longer than the token lasts."""
    used = await tx.fetchrow(
        """
        UPDATE node_tokens SET used_by = $3
        WHERE id = $1 AND secret_sha256 = $2
            AND (used_by = $3 OR (used_by IS NULL AND expires_at > $4))
        RETURNING name, rejoins
        """,
        id,
        secret_sha256,
        public_key,
        tx.now,
    )
    return Token(used["name"], used["rejoins"]) if used else None


async def add(tx: Tx, node: Node) -> bool:
    """False if the name is another's that is not retired."""
    added = await tx.execute(
        """
        INSERT INTO nodes (id, name, public_key, enrolled_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (name) WHERE retired_at IS NULL DO NOTHING
        """,
        node.id,
        node.name,
        node.public_key,
        tx.now,
    )
    return added > 0


async def by_key(tx: Tx, public_key: bytes) -> Node | None:
    row = await tx.fetchrow(f"{SELECT} WHERE public_key = $1", public_key)
    return _node(row) if row else None


async def get(tx: Tx, id: str) -> Node | None:
    row = await tx.fetchrow(f"{SELECT} WHERE id = $1", id)
    return _node(row) if row else None


async def retire(tx: Tx, id: str) -> None:
    await tx.execute(
        "UPDATE nodes SET retired_at = $2 WHERE id = $1 AND retired_at IS NULL", id, tx.now
    )


async def set_key(tx: Tx, id: str, public_key: bytes) -> None:
    await tx.execute("UPDATE nodes SET public_key = $2 WHERE id = $1", id, public_key)


async def add_reenrolment(tx: Tx, token_id: str, node_id: NodeId, public_key: bytes) -> bool:
    """Whether it is new."""
    added = await tx.execute(
        """
        INSERT INTO reenrolments (token_id, node_id, public_key, asked_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (token_id) DO NOTHING
        """,
        token_id,
        node_id,
        public_key,
        tx.now,
    )
    return added > 0


async def reject_reenrolment(tx: Tx, token_id: str, reason: str) -> None:
    await tx.execute("UPDATE reenrolments SET rejected = $2 WHERE token_id = $1", token_id, reason)


async def rejection(tx: Tx, token_id: str) -> str:
    """Why the key that came with this token was refused; empty if it was not."""
    return (
        await tx.fetchval("SELECT rejected FROM reenrolments WHERE token_id = $1", token_id) or ""
    )


@dataclass(frozen=True)
class Connection:
    """A node's link, and what central was told of it."""

    node_id: NodeId
    connected: bool
    session: str  # the connection that `connected` speaks of
    began: datetime | None
    present: bool
    steadiness: Steadiness


CONNECTION = "id, connected, session, connected_at, present, flaps, flapped_at"


def _connection(row: asyncpg.Record) -> Connection:
    return Connection(
        NodeId(row["id"]),
        row["connected"],
        row["session"],
        row["connected_at"],
        row["present"],
        Steadiness(row["flaps"], row["flapped_at"]),
    )


async def connection(tx: Tx, id: NodeId) -> Connection:
    """Held until the transaction ends: an old link's end and a new one's begin take turns."""
    row = await tx.fetchrow(f"SELECT {CONNECTION} FROM nodes WHERE id = $1 FOR UPDATE", id)
    if row is None:
        raise LookupError(f"there is no node {id}")
    return _connection(row)


async def connections_of(tx: Tx, executor: str) -> list[Connection]:
    """Those whose session an executor served."""
    rows = await tx.fetch(
        f"""
        SELECT {CONNECTION} FROM nodes
        WHERE connected AND starts_with(session, $1 || ':') ORDER BY id FOR UPDATE
        """,
        executor,
    )
    return [_connection(row) for row in rows]


async def keep_connection(tx: Tx, now: Connection) -> None:
    await tx.execute(
        """
        UPDATE nodes SET connected = $2, session = $3, connected_at = $4, present = $5, flaps = $6,
            flapped_at = $7
        WHERE id = $1
        """,
        now.node_id,
        now.connected,
        now.session,
        now.began,
        now.present,
        now.steadiness.flaps,
        now.steadiness.flapped_at,
    )


async def is_connected(tx: Tx, id: str) -> bool:
    return bool(await tx.fetchval("SELECT connected FROM nodes WHERE id = $1", id))
