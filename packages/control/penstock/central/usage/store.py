"""All SQL that touches the usage_segments table."""

from datetime import datetime

from penstock.central.access.authorization import Reach
from penstock.central.usage.model import Segment
from penstock.kernel.db import Tx
from penstock.kernel.errors import NotFound
from penstock_contracts.ids import AllocationId

COLUMNS = """
    allocation_id, tenant_id, project_id, sku_id, k.name AS sku_name, gpus,
    u.price_micros_per_gpu_hour, u.currency, lower(during) AS since, upper(during) AS to
"""


async def add(tx: Tx, segment: Segment) -> None:
    await tx.execute(
        """
        INSERT INTO usage_segments (allocation_id, tenant_id, project_id, sku_id, gpus,
            price_micros_per_gpu_hour, currency, during)
        VALUES ($1, $2, $3, $4, $5, $6, $7, tstzrange($8, NULL, '[)'))
        """,
        segment.allocation_id,
        segment.tenant_id,
        segment.project_id,
        segment.sku_id,
        segment.gpus,
        segment.price_micros_per_gpu_hour,
        segment.currency,
        segment.since,
    )


async def close(tx: Tx, id: AllocationId, at: datetime) -> Segment | None:
    """End the open segment; it, as it is now. It lasts a microsecond at least: usage that has
    begun is never undone."""
    row = await tx.fetchrow(
        f"""
        UPDATE usage_segments u SET end_known_at = $3, during = tstzrange(
            lower(during), greatest($2, lower(during) + interval '1 microsecond'), '[)')
        FROM skus k WHERE k.id = u.sku_id AND allocation_id = $1 AND upper_inf(during)
        RETURNING {COLUMNS}
        """,
        id,
        at,
        tx.now,
    )
    return Segment(**dict(row)) if row else None


async def of(tx: Tx, id: AllocationId) -> Segment:
    """The allocation's segment, which an operator corrects: it is active once, so it has one."""
    row = await tx.fetchrow(
        f"""
        SELECT {COLUMNS} FROM usage_segments u JOIN skus k ON k.id = u.sku_id
        WHERE allocation_id = $1 FOR UPDATE OF u
        """,
        id,
    )
    if row is None:
        raise NotFound("allocation", id)
    return Segment(**dict(row))


async def move(tx: Tx, segment: Segment) -> int | None:
    """Give the allocation's segment these ends; what was debited for it, if it was."""
    debited: int | None = await tx.fetchval(
        """
        UPDATE usage_segments SET during = tstzrange($2, $3, '[)')
        WHERE allocation_id = $1 RETURNING debited_micros
        """,
        segment.allocation_id,
        segment.since,
        segment.to,
    )
    return debited


async def mark_debited(tx: Tx, segment: Segment, micros: int) -> None:
    await tx.execute(
        """
        UPDATE usage_segments SET debited_micros = $3
        WHERE allocation_id = $1 AND lower(during) = $2
        """,
        segment.allocation_id,
        segment.since,
        micros,
    )


async def page(
    tx: Tx, reach: Reach, *, allocation: str | None, project: str | None, after: str, limit: int
) -> list[Segment]:
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM usage_segments u JOIN skus k ON k.id = u.sku_id
        WHERE allocation_id > $3 AND ($1::text IS NULL OR allocation_id = $1
                OR allocation_id IN (SELECT id FROM allocations WHERE gang_id = $1))
            AND ($2::text IS NULL OR project_id = $2)
            AND ($5 OR project_id = ANY($6) OR project_id IN (
                SELECT id FROM projects WHERE organization_id = ANY($7)))
        ORDER BY allocation_id LIMIT $4
        """,
        allocation,
        project,
        after,
        limit,
        reach.whole,
        reach.projects,
        reach.organizations,
    )
    return [Segment(**dict(row)) for row in rows]
