"""All SQL that touches the tenants table."""

import asyncpg

from penstock.central.tenants.model import Tenant
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, NotFound
from penstock_contracts.ids import TenantId

COLUMNS = "id, name, created_at"


def _tenant(row: asyncpg.Record) -> Tenant:
    return Tenant(TenantId(row["id"]), row["name"], row["created_at"])


async def add(tx: Tx, tenant: Tenant) -> None:
    added = await tx.execute(
        """
        INSERT INTO tenants (id, name, created_at) VALUES ($1, $2, $3)
        ON CONFLICT (name) DO NOTHING
        """,
        tenant.id,
        tenant.name,
        tenant.created_at,
    )
    if not added:
        raise Conflict(f"there is a tenant named {tenant.name!r} already", code="name_taken")


async def get(tx: Tx, id: str) -> Tenant:
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM tenants WHERE id = $1", id)
    if row is None:
        raise NotFound("tenant", id)
    return _tenant(row)


async def page(tx: Tx, after: str, limit: int) -> list[Tenant]:
    rows = await tx.fetch(
        f"SELECT {COLUMNS} FROM tenants WHERE id > $1 ORDER BY id LIMIT $2", after, limit
    )
    return [_tenant(row) for row in rows]
