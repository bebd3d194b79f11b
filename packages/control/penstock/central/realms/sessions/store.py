"""All SQL that touches the sessions table."""

from datetime import datetime

import asyncpg

from penstock.central.realms.sessions.model import Session
from penstock.kernel.db import Tx
from penstock_contracts.ids import SessionId, TenantId, UserId

COLUMNS = (
    "id, tenant_id, user_id, client_id, parent_id, scope, amr, agent, auth_at, created_at, "
    "seen_at, expires_at, ended_at"
)


def _session(row: asyncpg.Record) -> Session:
    parent = row["parent_id"]
    return Session(
        SessionId(row["id"]),
        TenantId(row["tenant_id"]),
        UserId(row["user_id"]),
        row["client_id"],
        SessionId(parent) if parent else None,
        row["scope"],
        tuple(row["amr"]),
        row["agent"],
        row["auth_at"],
        row["created_at"],
        row["seen_at"],
        row["expires_at"],
        row["ended_at"],
    )


async def add(tx: Tx, session: Session, hash: bytes | None) -> None:
    await tx.execute(
        """
        INSERT INTO sessions (id, tenant_id, user_id, kind, client_id, parent_id, hash, scope, amr,
            agent, auth_at, created_at, seen_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13)
        """,
        session.id,
        session.tenant_id,
        session.user_id,
        session.kind,
        session.client_id,
        session.parent_id,
        hash,
        session.scope,
        session.amr,
        session.agent,
        session.auth_at,
        session.created_at,
        session.expires_at,
    )


async def by_hash(tx: Tx, tenant_id: TenantId, hash: bytes) -> Session | None:
    row = await tx.fetchrow(
        f"SELECT {COLUMNS} FROM sessions WHERE tenant_id = $1 AND hash = $2", tenant_id, hash
    )
    return None if row is None else _session(row)


async def find(tx: Tx, id: str) -> Session | None:
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM sessions WHERE id = $1", id)
    return None if row is None else _session(row)


async def lock(tx: Tx, id: str) -> Session | None:
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM sessions WHERE id = $1 FOR UPDATE", id)
    return None if row is None else _session(row)


async def page(tx: Tx, user_id: str | None, after: str, limit: int) -> list[Session]:
    """Those that are live; of one user, or of all that the transaction may see."""
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM sessions
        WHERE id > $1 AND ($2::text IS NULL OR user_id = $2)
            AND ended_at IS NULL AND expires_at > $3
        ORDER BY id LIMIT $4
        """,
        after,
        user_id,
        tx.now,
        limit,
    )
    return [_session(row) for row in rows]


async def touch(tx: Tx, id: SessionId) -> None:
    await tx.execute("UPDATE sessions SET seen_at = $2 WHERE id = $1", id, tx.now)


async def end(tx: Tx, id: str, reason: str) -> int:
    """The session, and those that came from it."""
    return await tx.execute(
        """
        UPDATE sessions SET ended_at = $2, ended_reason = $3
        WHERE (id = $1 OR parent_id = $1) AND ended_at IS NULL
        """,
        id,
        tx.now,
        reason,
    )


async def end_of_user(tx: Tx, user_id: UserId, reason: str, *, client_id: str | None) -> int:
    return await tx.execute(
        """
        UPDATE sessions SET ended_at = $2, ended_reason = $3
        WHERE user_id = $1 AND ended_at IS NULL AND ($4::text IS NULL OR client_id = $4)
        """,
        user_id,
        tx.now,
        reason,
        client_id,
    )


async def end_of_client(tx: Tx, tenant_id: TenantId, client_id: str, reason: str) -> int:
    return await tx.execute(
        """
        UPDATE sessions SET ended_at = $3, ended_reason = $4
        WHERE tenant_id = $1 AND client_id = $2 AND ended_at IS NULL
        """,
        tenant_id,
        client_id,
        tx.now,
        reason,
    )


async def forget(tx: Tx, before: datetime, limit: int) -> int:
    """Those that were over by then, and that nothing refers to any more."""
    return await tx.execute(
        """
        DELETE FROM sessions WHERE id IN (
            SELECT id FROM sessions s WHERE least(expires_at, ended_at) < $1
                AND NOT EXISTS (SELECT FROM sessions WHERE parent_id = s.id)
                AND NOT EXISTS (SELECT FROM refresh_tokens WHERE session_id = s.id)
                AND NOT EXISTS (SELECT FROM device_codes WHERE session_id = s.id)
                AND NOT EXISTS (SELECT FROM authorization_codes WHERE session_id = s.id)
                AND NOT EXISTS (SELECT FROM authorization_codes WHERE browser_id = s.id)
            ORDER BY least(expires_at, ended_at) LIMIT $2 FOR UPDATE OF s SKIP LOCKED)
        """,
        before,
        limit,
    )
