"""All SQL that touches the disputes table."""

from collections.abc import Sequence

import asyncpg

from penstock.central.access.authorization import Reach
from penstock.central.disputes.model import Dispute, Edge
from penstock.kernel.db import Tx
from penstock_contracts.ids import AllocationId

SELECT = """
    SELECT d.*, p.organization_id FROM disputes d JOIN projects p ON p.id = d.project_id
"""


def _read(row: asyncpg.Record) -> Dispute:
    fields = dict(row)
    fields["edge"] = Edge(row["edge"])
    return Dispute(**fields)


async def add(tx: Tx, dispute: Dispute) -> None:
    await tx.execute(
        """
        INSERT INTO disputes (id, allocation_id, tenant_id, project_id, site_id, edge,
            reported_at, earliest_at, latest_at, counted_at, reason, opened_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        """,
        dispute.id,
        dispute.allocation_id,
        dispute.tenant_id,
        dispute.project_id,
        dispute.site_id,
        dispute.edge,
        dispute.reported_at,
        dispute.earliest_at,
        dispute.latest_at,
        dispute.counted_at,
        dispute.reason,
        dispute.opened_at,
    )


async def get(tx: Tx, id: str) -> Dispute | None:
    row = await tx.fetchrow(f"{SELECT} WHERE d.id = $1", id)
    return _read(row) if row else None


async def settle(tx: Tx, dispute: Dispute) -> None:
    await tx.execute(
        """
        UPDATE disputes SET counted_at = $2, settled_at = $3, settled_by = $4, settled_reason = $5
        WHERE id = $1
        """,
        dispute.id,
        dispute.counted_at,
        dispute.settled_at,
        dispute.settled_by,
        dispute.settled_reason,
    )


async def page(
    tx: Tx, reach: Reach, *, settled: bool | None, after: str, limit: int
) -> list[Dispute]:
    rows = await tx.fetch(
        f"""
        {SELECT}
        WHERE d.id > $1 AND ($2::boolean IS NULL OR $2 = (d.settled_at IS NOT NULL))
            AND ($4 OR d.project_id = ANY($5) OR p.organization_id = ANY($6))
        ORDER BY d.id LIMIT $3
        """,
        after,
        settled,
        limit,
        reach.whole,
        reach.projects,
        reach.organizations,
    )
    return [_read(row) for row in rows]


async def unsettled(tx: Tx) -> list[AllocationId]:
    rows = await tx.fetch("SELECT allocation_id FROM disputes WHERE settled_at IS NULL")
    return [AllocationId(row["allocation_id"]) for row in rows]


async def forget(tx: Tx, leases: Sequence[AllocationId]) -> None:
    await tx.execute("DELETE FROM disputes WHERE allocation_id = ANY($1)", leases)
