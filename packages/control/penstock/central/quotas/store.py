"""All SQL that touches the quotas and gpus_held tables. A trigger writes the latter."""

from collections.abc import Sequence

import asyncpg

from penstock.central.quotas.model import Level, Limit, Line, Scope
from penstock.kernel.db import Tx
from penstock_contracts.ids import OrganizationId, TenantId


def _line(row: asyncpg.Record) -> Line:
    return Line(
        Level(row["scope"]), row["scope_id"], row["family"], row["gpus_max"], row["gpus_used"]
    )


async def lines(tx: Tx, scope: Scope) -> list[Line]:
    """Of the scope: the total, and each family that is limited or held."""
    rows = await tx.fetch(
        """
        WITH held AS (
            SELECT family, sum(gpus)::bigint AS gpus FROM gpus_held
            WHERE tenant_id = $1 AND CASE $2
                WHEN 'organization' THEN organization_id = $3
                WHEN 'project' THEN project_id = $3 ELSE true END
            GROUP BY family HAVING sum(gpus) > 0
        ), named AS (
            SELECT '' AS family UNION SELECT family FROM held
            UNION SELECT family FROM quotas WHERE scope_id = $3
        )
        SELECT $2 AS scope, $3 AS scope_id, n.family, q.gpus_max, (
            SELECT coalesce(sum(h.gpus), 0)::bigint FROM held h WHERE n.family IN ('', h.family)
        ) AS gpus_used
        FROM named n LEFT JOIN quotas q ON q.scope_id = $3 AND q.family = n.family
        ORDER BY n.family
        """,
        scope.tenant_id,
        scope.level,
        scope.id,
    )
    return [_line(row) for row in rows]


async def limited(tx: Tx, scope_ids: Sequence[str]) -> list[Line]:
    """Every limit of these scopes, with what is held under it."""
    rows = await tx.fetch("SELECT * FROM quota_lines WHERE scope_id = ANY($1)", list(scope_ids))
    return [_line(row) for row in rows]


async def limits(tx: Tx, tenant_id: TenantId, family: str) -> list[Limit]:
    """All of a tenant's limits on a family, at every level."""
    rows = await tx.fetch(
        """
        SELECT q.scope, q.scope_id, q.tenant_id, q.gpus_max,
            coalesce(q.organization_id, p.organization_id) AS organization_id
        FROM quotas q LEFT JOIN projects p ON p.id = q.project_id
        WHERE q.tenant_id = $1 AND q.family = $2
        """,
        tenant_id,
        family,
    )
    return [Limit(_scope(row), row["gpus_max"]) for row in rows]


def _scope(row: asyncpg.Record) -> Scope:
    organization = row["organization_id"]
    return Scope(
        Level(row["scope"]),
        row["scope_id"],
        TenantId(row["tenant_id"]),
        OrganizationId(organization) if organization else None,
    )


async def put(tx: Tx, scope: Scope, family: str, gpus_max: int) -> None:
    await tx.execute(
        """
        INSERT INTO quotas (tenant_id, scope, scope_id, family, gpus_max)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (scope_id, family) DO UPDATE SET gpus_max = excluded.gpus_max
        """,
        scope.tenant_id,
        scope.level,
        scope.id,
        family,
        gpus_max,
    )


async def remove(tx: Tx, scope: Scope, family: str) -> bool:
    removed = await tx.execute(
        "DELETE FROM quotas WHERE scope_id = $1 AND family = $2", scope.id, family
    )
    return removed > 0


async def held(tx: Tx, tenants: Sequence[TenantId]) -> dict[str, int]:
    """How many GPUs each of these tenants holds, those being cleaned included."""
    rows = await tx.fetch(
        """
        SELECT tenant_id, sum(gpus)::bigint AS gpus FROM gpus_held
        WHERE tenant_id = ANY($1) GROUP BY tenant_id
        """,
        list(tenants),
    )
    return {row["tenant_id"]: row["gpus"] for row in rows}


async def forget(tx: Tx, tenant_id: TenantId) -> None:
    await tx.execute("DELETE FROM quotas WHERE tenant_id = $1", tenant_id)
