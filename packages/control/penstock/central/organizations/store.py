"""All SQL that touches the organizations table."""

import asyncpg

from penstock.central.access.authorization import Reach
from penstock.central.organizations.model import Organization
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock_contracts.ids import OrganizationId, TenantId

COLUMNS = "id, tenant_id, name, created_at"


def _organization(row: asyncpg.Record) -> Organization:
    return Organization(
        OrganizationId(row["id"]), TenantId(row["tenant_id"]), row["name"], row["created_at"]
    )


async def add(tx: Tx, organization: Organization) -> None:
    added = await tx.execute(
        f"""
        INSERT INTO organizations ({COLUMNS}) VALUES ($1, $2, $3, $4)
        ON CONFLICT (tenant_id, name) DO NOTHING
        """,
        organization.id,
        organization.tenant_id,
        organization.name,
        organization.created_at,
    )
    if not added:
        raise Conflict(
            f"there is an organization named {organization.name!r} already", code="name_taken"
        )


async def find(tx: Tx, reference: str) -> list[Organization]:
    """By id or by name, in whichever tenants it is one."""
    rows = await tx.fetch(
        f"SELECT {COLUMNS} FROM organizations WHERE id = $1 OR name = $1", reference
    )
    return [_organization(row) for row in rows]


async def page(tx: Tx, reach: Reach, after: str, limit: int) -> list[Organization]:
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM organizations
        WHERE id > $1 AND ($3 OR id = ANY($4)) ORDER BY id LIMIT $2
        """,
        after,
        limit,
        reach.whole,
        reach.organizations,
    )
    return [_organization(row) for row in rows]


async def forget(tx: Tx, tenant_id: TenantId) -> None:
    await tx.execute("DELETE FROM organizations WHERE tenant_id = $1", tenant_id)
