"""All SQL that touches the quotas, gpus_held and spent tables. Triggers write the latter two."""

from collections.abc import Sequence

import asyncpg

from penstock.central.quotas.model import Kind, Level, Limit, Line, Measure, Scope
from penstock.kernel.db import Tx
from penstock.kernel.questions import Question
from penstock_contracts.ids import OrganizationId, TenantId


def _line(row: asyncpg.Record) -> Line:
    level = Level(row["scope"])
    return Line(level, row["scope_id"], _measure(row), row["most"], row["used"], row["due"])


def _measure(row: asyncpg.Record) -> Measure:
    return Measure(Kind(row["kind"]), row["family"], row["currency"])


async def lines(tx: Tx, scope: Scope) -> list[Line]:
    """Of the scope: GPUs in total, each family that is held, and all that is limited."""
    rows = await tx.fetch(
        """
        WITH named AS (
            SELECT 'gpus' AS kind, '' AS family, '' AS currency
            UNION SELECT 'gpus', family, '' FROM gpus_held
            WHERE tenant_id = $1 AND gpus > 0 AND CASE $2
                WHEN 'organization' THEN organization_id = $3
                WHEN 'project' THEN project_id = $3 ELSE true END
            UNION SELECT kind, family, currency FROM quotas WHERE scope_id = $3
        )
        SELECT $2 AS scope, $3 AS scope_id, n.*, q.most, u.used, u.due
        FROM named n LEFT JOIN quotas q ON q.scope_id = $3
            AND (q.kind, q.family, q.currency) = (n.kind, n.family, n.currency)
        CROSS JOIN LATERAL quota_use($1, $2, $3, n.kind, n.family, n.currency, $4) AS u
        ORDER BY array_position($5::text[], n.kind), n.family, n.currency
        """,
        scope.tenant_id,
        scope.level,
        scope.id,
        tx.now,
        list(Kind),
    )
    return [_line(row) for row in rows]


async def line(tx: Tx, scope: Scope, measure: Measure) -> Line:
    """What the scope uses of this, whether or not it is limited."""
    row = await tx.fetchrow(
        """
        SELECT u.used, u.due, (SELECT most FROM quotas WHERE scope_id = $3
            AND (kind, family, currency) = ($4, $5, $6)) AS most
        FROM quota_use($1, $2, $3, $4, $5, $6, $7) AS u
        """,
        scope.tenant_id,
        scope.level,
        scope.id,
        measure.kind,
        measure.family,
        measure.currency,
        tx.now,
    )
    if row is None:
        raise LookupError("quota_use always has a row")
    return Line(scope.level, scope.id, measure, row["most"], row["used"], row["due"])


def limited(tx: Tx, scope_ids: Sequence[str], kinds: Sequence[Kind]) -> Question[list[Line]]:
    """Each limit of these scopes, with what is used under it as of the transaction's time."""
    return Question(
        """
        SELECT (q.scope, q.scope_id, q.kind, q.family, q.currency, q.most, u.used,
            u.due)::quota_line
        FROM quotas q CROSS JOIN LATERAL quota_use(
            q.tenant_id, q.scope, q.scope_id, q.kind, q.family, q.currency, $2) AS u
        WHERE q.scope_id = ANY($1) AND q.kind = ANY($3)
        """,
        (scope_ids, tx.now, kinds),
        lambda rows: [_line(row) for row in rows],
    )


async def limits(tx: Tx, tenant_id: TenantId, kind: Kind) -> list[Limit]:
    """All of a tenant's limits of this kind, at every level."""
    rows = await tx.fetch(
        """
        SELECT q.scope, q.scope_id, q.tenant_id, q.kind, q.family, q.currency, q.most,
            coalesce(q.organization_id, p.organization_id) AS organization_id
        FROM quotas q LEFT JOIN projects p ON p.id = q.project_id
        WHERE q.tenant_id = $1 AND q.kind = $2
        """,
        tenant_id,
        kind,
    )
    return [Limit(_scope(row), _measure(row), row["most"]) for row in rows]


def _scope(row: asyncpg.Record) -> Scope:
    organization = row["organization_id"]
    return Scope(
        Level(row["scope"]),
        row["scope_id"],
        TenantId(row["tenant_id"]),
        OrganizationId(organization) if organization else None,
    )


async def put(tx: Tx, scope: Scope, measure: Measure, most: int) -> None:
    await tx.execute(
        """
        INSERT INTO quotas (tenant_id, scope, scope_id, kind, family, currency, most)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (scope_id, kind, family, currency) DO UPDATE SET most = excluded.most
        """,
        scope.tenant_id,
        scope.level,
        scope.id,
        measure.kind,
        measure.family,
        measure.currency,
        most,
    )


async def remove(tx: Tx, scope: Scope, measure: Measure) -> bool:
    removed = await tx.execute(
        "DELETE FROM quotas WHERE scope_id = $1 AND (kind, family, currency) = ($2, $3, $4)",
        scope.id,
        measure.kind,
        measure.family,
        measure.currency,
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
