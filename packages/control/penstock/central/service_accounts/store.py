"""All SQL that touches the service_accounts table."""

from datetime import datetime

import asyncpg

from penstock.central.service_accounts.model import ServiceAccount
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock_contracts.ids import ServiceAccountId, TenantId

COLUMNS = "id, tenant_id, name, created_at, disabled_at"


def _account(row: asyncpg.Record) -> ServiceAccount:
    tenant: str | None = row["tenant_id"]
    return ServiceAccount(
        ServiceAccountId(row["id"]),
        TenantId(tenant) if tenant else None,
        row["name"],
        row["created_at"],
        row["disabled_at"],
    )


async def add(tx: Tx, account: ServiceAccount) -> None:
    added = await tx.execute(
        """
        INSERT INTO service_accounts (id, tenant_id, name, created_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (owner, name) DO NOTHING
        """,
        account.id,
        account.tenant_id,
        account.name,
        account.created_at,
    )
    if not added:
        raise Conflict(
            f"there is a service account named {account.name!r} already", code="name_taken"
        )


async def lock(tx: Tx, id: str) -> ServiceAccount | None:
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM service_accounts WHERE id = $1 FOR UPDATE", id)
    return _account(row) if row else None


async def set_disabled(tx: Tx, id: ServiceAccountId, at: datetime | None) -> None:
    await tx.execute("UPDATE service_accounts SET disabled_at = $2 WHERE id = $1", id, at)


async def page(tx: Tx, after: str, limit: int) -> list[ServiceAccount]:
    rows = await tx.fetch(
        f"SELECT {COLUMNS} FROM service_accounts WHERE id > $1 ORDER BY id LIMIT $2", after, limit
    )
    return [_account(row) for row in rows]
