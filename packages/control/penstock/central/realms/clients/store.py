"""All SQL that touches the realm_clients table."""

import asyncpg

from penstock.central.realms.clients.model import Client
from penstock.kernel.db import Tx
from penstock_contracts.ids import TenantId

COLUMNS = (
    "tenant_id, id, name, secret_hash, redirect_uris, grants, scopes, role, trusted, created_at, "
    "disabled_at"
)


def _client(row: asyncpg.Record) -> Client:
    return Client(
        row["id"],
        TenantId(row["tenant_id"]),
        row["name"],
        row["secret_hash"],
        tuple(row["redirect_uris"]),
        tuple(row["grants"]),
        tuple(row["scopes"]),
        row["role"],
        row["trusted"],
        row["created_at"],
        row["disabled_at"],
    )


async def add(tx: Tx, client: Client) -> None:
    await tx.execute(
        """
        INSERT INTO realm_clients (tenant_id, id, name, secret_hash, redirect_uris, grants, scopes,
            role, trusted, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        """,
        client.tenant_id,
        client.id,
        client.name,
        client.secret_hash,
        client.redirect_uris,
        client.grants,
        client.scopes,
        client.role,
        client.trusted,
        client.created_at,
    )


async def find(tx: Tx, tenant_id: TenantId | None, id: str) -> Client | None:
    """Of this tenant; of any that the transaction may see, if none is named."""
    row = await tx.fetchrow(
        f"""
        SELECT {COLUMNS} FROM realm_clients WHERE id = $2 AND ($1::text IS NULL OR tenant_id = $1)
        LIMIT 1
        """,
        tenant_id,
        id,
    )
    return None if row is None else _client(row)


async def page(tx: Tx, after: str, limit: int) -> list[Client]:
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM realm_clients WHERE tenant_id || '/' || id > $1
        ORDER BY tenant_id || '/' || id LIMIT $2
        """,
        after,
        limit,
    )
    return [_client(row) for row in rows]


async def disable(tx: Tx, client: Client) -> None:
    await tx.execute(
        """
        UPDATE realm_clients SET disabled_at = $3
        WHERE tenant_id = $1 AND id = $2 AND disabled_at IS NULL
        """,
        client.tenant_id,
        client.id,
        tx.now,
    )
