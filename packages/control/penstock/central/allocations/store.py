"""All SQL that touches the allocations, claims and placement_receipts tables."""

from collections.abc import Sequence

import asyncpg

from penstock.central.allocations import waiting
from penstock.central.allocations.model import Allocation, Desired, Execution, Observed, Status
from penstock.central.allocations.wait import Wait
from penstock.kernel.db import Tx
from penstock.kernel.errors import NotFound
from penstock.placement.model import Shape, Taken
from penstock_contracts.ids import (
    AllocationId,
    NodeId,
    ProjectId,
    ProofId,
    SiteId,
    SkuId,
    SlotId,
    TenantId,
)
from penstock_contracts.wire_pb2 import Signed

SELECT = """
    SELECT a.*, k.name AS sku_name, held.slot_ids, held.blocked_reason
    FROM allocations a JOIN skus k ON k.id = a.sku_id
    CROSS JOIN LATERAL (
        SELECT array_agg(c.slot_id ORDER BY s.kind, s.index, c.slot_id) AS slot_ids,
            coalesce(max(c.blocked_reason) FILTER (WHERE c.freed_at IS NULL), '') AS blocked_reason
        FROM claims c LEFT JOIN slots s ON s.id = c.slot_id WHERE c.allocation_id = a.id) AS held
"""

# The same as Allocation.status, where a list is to be filtered by it.
STATUS = """
    CASE
        WHEN a.failed_reason <> '' THEN 'failed'
        WHEN a.expired_at IS NOT NULL THEN 'expired'
        WHEN a.freed_at IS NOT NULL OR (a.placed_at IS NULL AND a.desired = 'released')
            THEN 'released'
        WHEN a.placed_at IS NULL THEN 'queued'
        WHEN a.desired = 'released' AND held.blocked_reason <> '' THEN 'cleanup_blocked'
        WHEN a.desired = 'released' THEN 'releasing'
        WHEN a.observed = 'active' THEN 'active'
        ELSE 'placed'
    END
"""


def read(row: asyncpg.Record) -> Allocation:
    return Allocation(
        id=AllocationId(row["id"]),
        tenant_id=TenantId(row["tenant_id"]),
        project_id=ProjectId(row["project_id"]),
        sku_id=SkuId(row["sku_id"]),
        sku_name=row["sku_name"],
        shape=Shape(row["shape"]),
        family=row["family"],
        gpus=row["gpus"],
        price_micros_per_gpu_hour=row["price_micros_per_gpu_hour"],
        currency=row["currency"],
        site_id=SiteId(row["site_id"]) if row["site_id"] else None,
        node_id=NodeId(row["node_id"]) if row["node_id"] else None,
        desired=Desired(row["desired"]),
        desired_at=row["desired_at"],
        revision=row["revision"],
        observed=Observed(row["observed"]),
        observed_at=row["observed_at"],
        observed_reason=row["observed_reason"],
        execution=Execution(
            row["execution_workflow"],
            row["execution_step"],
            row["execution_status"],
            row["execution_detail"],
            row["execution_at"],
        ),
        created_at=row["created_at"],
        created_by=row["created_by"],
        correlation_id=row["correlation_id"],
        failed_reason=row["failed_reason"],
        freed_at=row["freed_at"],
        slot_ids=tuple(SlotId(id) for id in row["slot_ids"] or ()),
        blocked_reason=row["blocked_reason"],
        placed_at=row["placed_at"],
        wait=_wait(row),
    )


def _wait(row: asyncpg.Record) -> Wait:
    return Wait(
        priority=row["priority"],
        asked_site_id=SiteId(row["asked_site_id"]) if row["asked_site_id"] else None,
        queued_at=row["queued_at"],
        expires_at=row["expires_at"],
        expired_at=row["expired_at"],
        ends_at=row["ends_at"],
        kept_nodes=tuple(row["kept_nodes"]),
        estimate=waiting.read_estimate(row["estimate"]) if row["estimate"] else None,
    )


async def get(tx: Tx, id: str) -> Allocation:
    row = await tx.fetchrow(f"{SELECT} WHERE a.id = $1", id)
    if row is None:
        raise NotFound("allocation", id)
    return read(row)


async def lock(tx: Tx, id: str) -> Allocation | None:
    """The allocation, held until the transaction ends: one writer at a time."""
    await tx.execute("SELECT FROM allocations WHERE id = $1 FOR UPDATE", id)
    row = await tx.fetchrow(f"{SELECT} WHERE a.id = $1", id)
    return read(row) if row else None


async def find(tx: Tx, ids: Sequence[AllocationId]) -> list[Allocation]:
    return [read(row) for row in await tx.fetch(f"{SELECT} WHERE a.id = ANY($1)", list(ids))]


async def page(
    tx: Tx, *, project: str | None, status: Status | None, after: str, limit: int
) -> list[Allocation]:
    rows = await tx.fetch(
        f"""
        {SELECT} WHERE a.id > $3 AND ($1::text IS NULL OR a.project_id = $1)
            AND ($2::text IS NULL OR {STATUS} = $2)
        ORDER BY a.id LIMIT $4
        """,
        project,
        status,
        after,
        limit,
    )
    return [read(row) for row in rows]


async def add(
    tx: Tx, placed: Sequence[tuple[Allocation, tuple[Taken, ...], dict[str, object]]]
) -> None:
    """Placed allocations with their claims and receipts, in bulk: new ones, and ones that waited.

    A slot held already is a unique violation: the caller's fleet was stale, and nothing was
    written.
    """
    allocations = [allocation for allocation, _, _ in placed]
    await insert(tx, [a for a in allocations if a.wait.queued_at is None])
    await waiting.place(tx, [a for a in allocations if a.wait.queued_at is not None])
    claims = [(taken, a) for a, all_taken, _ in placed for taken in all_taken]
    await tx.execute(
        """
        INSERT INTO claims (slot_id, fence, allocation_id, tenant_id, node_id, claimed_at)
        SELECT slot, fence, allocation, tenant, node, $6
        FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[])
            AS new (slot, fence, allocation, tenant, node)
        """,
        [taken.slot_id for taken, _ in claims],
        [taken.fence for taken, _ in claims],
        [a.id for _, a in claims],
        [a.tenant_id for _, a in claims],
        [a.node_id for _, a in claims],
        tx.now,
    )
    await tx.connection.executemany(
        "INSERT INTO placement_receipts (allocation_id, tenant_id, receipt) VALUES ($1, $2, $3)",
        [(a.id, a.tenant_id, receipt) for a, _, receipt in placed],
    )


async def insert(tx: Tx, new: Sequence[Allocation]) -> None:
    await tx.connection.executemany(
        """
        INSERT INTO allocations (id, tenant_id, project_id, sku_id, shape, family, gpus,
            price_micros_per_gpu_hour, currency, site_id, node_id, desired, desired_at, revision,
            created_at, created_by, correlation_id, placed_at, priority, asked_site_id, queued_at,
            expires_at, ends_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
            $19, $20, $21, $22, $23)
        """,
        [
            (
                a.id, a.tenant_id, a.project_id, a.sku_id, a.shape, a.family, a.gpus,
                a.price_micros_per_gpu_hour, a.currency, a.site_id, a.node_id, a.desired,
                a.desired_at, a.revision, a.created_at, a.created_by, a.correlation_id,
                a.placed_at, a.wait.priority, a.wait.asked_site_id, a.wait.queued_at,
                a.wait.expires_at, a.wait.ends_at,
            )
            for a in new
        ],
    )  # fmt: skip


async def receipt(tx: Tx, id: AllocationId) -> dict[str, object]:
    found: dict[str, object] | None = await tx.fetchval(
        "SELECT receipt FROM placement_receipts WHERE allocation_id = $1", id
    )
    if found is None:
        raise NotFound("allocation", id)
    return found


async def gpus_held(tx: Tx, tenants: Sequence[TenantId]) -> dict[TenantId, int]:
    """How many GPUs each tenant holds now, those being cleaned included."""
    rows = await tx.fetch(
        """
        SELECT tenant_id, sum(gpus) AS gpus FROM allocations
        WHERE placed_at IS NOT NULL AND freed_at IS NULL AND tenant_id = ANY($1)
        GROUP BY tenant_id
        """,
        list(tenants),
    )
    return {TenantId(row["tenant_id"]): row["gpus"] for row in rows}


async def desire(tx: Tx, id: AllocationId, desired: Desired, revision: int) -> None:
    await tx.execute(
        "UPDATE allocations SET desired = $2, desired_at = $3, revision = $4 WHERE id = $1",
        id,
        desired,
        tx.now,
        revision,
    )


async def ask_cleanup(tx: Tx, slot_id: SlotId, allocation_id: AllocationId, nonce: bytes) -> None:
    """A fresh nonce for the live claim: only a proof made after this one counts."""
    await tx.execute(
        """
        UPDATE claims SET cleanup_nonce = $3, blocked_reason = ''
        WHERE slot_id = $1 AND allocation_id = $2 AND freed_at IS NULL
        """,
        slot_id,
        allocation_id,
        nonce,
    )


async def observe(tx: Tx, allocation: Allocation) -> None:
    await tx.execute(
        """
        UPDATE allocations SET observed = $2, observed_at = $3, observed_reason = $4,
            failed_reason = $5 WHERE id = $1
        """,
        allocation.id,
        allocation.observed,
        allocation.observed_at,
        allocation.observed_reason,
        allocation.failed_reason,
    )


async def execute(tx: Tx, id: AllocationId, execution: Execution) -> None:
    await tx.execute(
        """
        UPDATE allocations SET execution_workflow = $2, execution_step = $3,
            execution_status = $4, execution_detail = $5, execution_at = $6 WHERE id = $1
        """,
        id,
        execution.workflow,
        execution.step,
        execution.status,
        execution.detail,
        execution.at,
    )


async def block(tx: Tx, slot_id: SlotId, fence: int, reason: str) -> None:
    await tx.execute(
        "UPDATE claims SET blocked_reason = $3 WHERE slot_id = $1 AND fence = $2",
        slot_id,
        fence,
        reason,
    )


async def free(tx: Tx, slot_id: SlotId, fence: int) -> None:
    """The database accepts it only with a proof of this slot and fence."""
    await tx.execute(
        """
        UPDATE claims SET freed_at = $3, blocked_reason = ''
        WHERE slot_id = $1 AND fence = $2 AND freed_at IS NULL
        """,
        slot_id,
        fence,
        tx.now,
    )


async def finish_if_freed(tx: Tx, id: AllocationId) -> bool:
    """Mark the allocation freed once none of its slots is held."""
    changed = await tx.execute(
        """
        UPDATE allocations SET freed_at = $2 WHERE id = $1 AND freed_at IS NULL AND NOT EXISTS (
            SELECT FROM claims WHERE allocation_id = $1 AND freed_at IS NULL)
        """,
        id,
        tx.now,
    )
    return changed > 0


async def add_proof(
    tx: Tx, id: ProofId, slot_id: SlotId, fence: int, allocation: Allocation, signed: Signed
) -> None:
    await tx.execute(
        """
        INSERT INTO cleanup_proofs (id, slot_id, fence, allocation_id, tenant_id, payload,
            signature, proven_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        id,
        slot_id,
        fence,
        allocation.id,
        allocation.tenant_id,
        signed.payload,
        signed.signature,
        tx.now,
    )
