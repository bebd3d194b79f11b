"""All SQL that lists and ends API keys. (`keys` makes them and looks them up at every call.)"""

from typing import Final

import asyncpg

from penstock.central.access.model import Key
from penstock.kernel.db import Tx
from penstock_contracts.ids import KeyId, TenantId, UserId

COLUMNS: Final = (
    "id, tenant_id, user_id, service_account_id, client_id, name, role, scopes, created_at, "
    "expires_at, revoked_at"
)


def _key(row: asyncpg.Record) -> Key:
    return Key(**dict(row))


async def page(tx: Tx, user_id: str | None, after: str, limit: int) -> list[Key]:
    """Of one user, or all that the transaction may see."""
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM api_keys
        WHERE id > $1 AND ($2::text IS NULL OR user_id = $2) ORDER BY id LIMIT $3
        """,
        after,
        user_id,
        limit,
    )
    return [_key(row) for row in rows]


async def live_of_user(tx: Tx, user_id: UserId, limit: int) -> list[Key]:
    """Those that are good, the newest first."""
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM api_keys
        WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > $2 ORDER BY id DESC LIMIT $3
        """,
        user_id,
        tx.now,
        limit,
    )
    return [_key(row) for row in rows]


async def lock(tx: Tx, id: str) -> Key | None:
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM api_keys WHERE id = $1 FOR UPDATE", id)
    return None if row is None else _key(row)


async def revoke(tx: Tx, id: KeyId) -> None:
    await tx.execute(
        "UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL", id, tx.now
    )


async def revoke_of_user(tx: Tx, user_id: UserId, client_id: str | None) -> list[Key]:
    """All that a person has, or has through one client; those that this ended."""
    rows = await tx.fetch(
        f"""
        UPDATE api_keys SET revoked_at = $3
        WHERE user_id = $1 AND ($2::text IS NULL OR client_id = $2) AND revoked_at IS NULL
        RETURNING {COLUMNS}
        """,
        user_id,
        client_id,
        tx.now,
    )
    return [_key(row) for row in rows]


async def revoke_of_client(tx: Tx, tenant_id: TenantId, client_id: str) -> list[Key]:
    """All that were made through a client; those that this ended."""
    rows = await tx.fetch(
        f"""
        UPDATE api_keys SET revoked_at = $3
        WHERE tenant_id = $1 AND client_id = $2 AND revoked_at IS NULL RETURNING {COLUMNS}
        """,
        tenant_id,
        client_id,
        tx.now,
    )
    return [_key(row) for row in rows]
