"""All SQL that touches the assignments table."""

from collections.abc import Sequence

import asyncpg

from penstock.central.networks.model import Assignment
from penstock.central.pools.model import Kind
from penstock.kernel.db import Tx
from penstock_contracts.ids import AssignmentId, PoolId, SiteId, TenantId

COLUMNS = "id, tenant_id, pool_id, kind, site_id, number, prefix, assigned_at, returned_at"


def _assignment(row: asyncpg.Record) -> Assignment:
    return Assignment(
        AssignmentId(row["id"]),
        TenantId(row["tenant_id"]),
        PoolId(row["pool_id"]),
        Kind(row["kind"]),
        SiteId(row["site_id"]) if row["site_id"] else None,
        row["prefix"] if row["number"] is None else row["number"],
        row["assigned_at"],
        row["returned_at"],
    )


async def of_tenant(tx: Tx, tenant_id: TenantId) -> list[Assignment]:
    """What it has, in the order of kinds and values."""
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM assignments WHERE tenant_id = $1 AND returned_at IS NULL
        ORDER BY site_id NULLS FIRST, array_position(
            ARRAY['vrf', 'vlan', 'vni', 'pkey', 'ipv4', 'ipv6'], kind), number, prefix
        """,
        tenant_id,
    )
    return [_assignment(row) for row in rows]


async def of_pools(tx: Tx, pools: Sequence[PoolId]) -> list[Assignment]:
    """What is taken of these pools."""
    rows = await tx.fetch(
        f"SELECT {COLUMNS} FROM assignments WHERE pool_id = ANY($1) AND returned_at IS NULL",
        list(pools),
    )
    return [_assignment(row) for row in rows]


async def add(tx: Tx, assignments: Sequence[Assignment]) -> None:
    for each in assignments:
        number = each.value if isinstance(each.value, int) else None
        await tx.execute(
            f"INSERT INTO assignments ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NULL)",
            each.id,
            each.tenant_id,
            each.pool_id,
            each.kind,
            each.site_id,
            number,
            each.value if number is None else None,
            each.assigned_at,
        )


async def give_back(tx: Tx, tenant_id: TenantId) -> int:
    """How many were returned. The database refuses it while the tenant is not gone."""
    return await tx.execute(
        "UPDATE assignments SET returned_at = $2 WHERE tenant_id = $1 AND returned_at IS NULL",
        tenant_id,
        tx.now,
    )


async def forget(tx: Tx, tenant_id: TenantId) -> int:
    """Of a tenant that never came to be. The database refuses it for any other."""
    return await tx.execute("DELETE FROM assignments WHERE tenant_id = $1", tenant_id)
