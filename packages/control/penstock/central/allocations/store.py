"""The SQL that touches the allocations and claims tables; placement.writing inserts them."""

from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from penstock.central.access.authorization import Reach
from penstock.central.allocations import waiting
from penstock.central.allocations.gangs import PRECEDENCE
from penstock.central.allocations.model import Allocation, Desired, Execution, Observed, Status
from penstock.central.allocations.wait import Wait
from penstock.central.policies.model import Terms
from penstock.central.slots.model import Slot
from penstock.kernel.db import Tx
from penstock.kernel.errors import NotFound
from penstock.placement.model import Shape
from penstock_contracts.ids import (
    AllocationId,
    NodeId,
    OrganizationId,
    ProjectId,
    ProofId,
    SiteId,
    SkuId,
    SlotId,
    TenantId,
)
from penstock_contracts.wire_pb2 import Signed

HELD = """
    CROSS JOIN LATERAL (
        SELECT coalesce(max(c.blocked_reason), '') AS blocked_reason FROM claims c
        WHERE c.slot_id = ANY(a.slot_ids) AND c.allocation_id = a.id AND c.freed_at IS NULL) AS held
"""
SELECT = f"""
    SELECT a.*, k.name AS sku_name, p.organization_id, held.blocked_reason
    FROM allocations a JOIN skus k ON k.id = a.sku_id JOIN projects p ON p.id = a.project_id
    {HELD}
"""

# The same as Allocation.status, where a list is to be filtered by it.
STATUS = """
    CASE
        WHEN a.failed_reason <> '' THEN 'failed'
        WHEN a.expired_at IS NOT NULL THEN 'expired'
        WHEN a.freed_at IS NOT NULL OR (a.placed_at IS NULL AND a.desired = 'released')
            THEN 'released'
        WHEN a.abandoned_at IS NOT NULL THEN 'abandoned'
        WHEN a.placed_at IS NULL THEN 'queued'
        WHEN a.desired = 'released' AND held.blocked_reason <> '' THEN 'cleanup_blocked'
        WHEN a.desired = 'released' THEN 'releasing'
        WHEN a.observed = 'active' THEN 'active'
        ELSE 'placed'
    END
"""
# The same as gangs.status, of the gang `lease.gang`.
GANG_STATUS = f"""
    SELECT of_one.status FROM (
        SELECT {STATUS} AS status FROM allocations a {HELD} WHERE a.gang_id = lease.gang) AS of_one
    ORDER BY array_position('{{{",".join(PRECEDENCE)}}}'::text[], of_one.status) LIMIT 1
"""


@dataclass(frozen=True)
class Proven:
    """A slot whose cleanup its node proved."""

    id: ProofId
    slot: Slot
    signed: Signed


def read(row: asyncpg.Record) -> Allocation:
    return Allocation(
        id=AllocationId(row["id"]),
        tenant_id=TenantId(row["tenant_id"]),
        organization_id=OrganizationId(row["organization_id"]),
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
        abandoned_at=row["abandoned_at"],
        slot_ids=tuple(SlotId(id) for id in row["slot_ids"] or ()),
        blocked_reason=row["blocked_reason"],
        placed_at=row["placed_at"],
        wait=_wait(row),
        gang_id=AllocationId(row["gang_id"]) if row["gang_id"] else None,
        nodes=row["nodes"],
    )


def _wait(row: asyncpg.Record) -> Wait:
    return Wait(
        priority=row["priority"],
        asked_site_id=SiteId(row["asked_site_id"]) if row["asked_site_id"] else None,
        terms=Terms.read(row["terms"]),
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
    """The allocation, held until the transaction ends: one writer at a time. Of a gang, the lead's
    row is held for all members, so whoever changes several of them waits for nobody in between."""
    await tx.execute(
        """
        SELECT FROM allocations
        WHERE id = (SELECT coalesce(gang_id, id) FROM allocations WHERE id = $1) FOR UPDATE
        """,
        id,
    )
    row = await tx.fetchrow(f"{SELECT} WHERE a.id = $1", id)
    return read(row) if row else None


async def find(tx: Tx, ids: Sequence[AllocationId]) -> list[Allocation]:
    return [read(row) for row in await tx.fetch(f"{SELECT} WHERE a.id = ANY($1)", list(ids))]


async def page(
    tx: Tx, reach: Reach, *, project: str | None, status: Status | None, after: str, limit: int
) -> list[Allocation]:
    """Leases: of a gang, its lead."""
    rows = await tx.fetch(
        f"""
        {SELECT} CROSS JOIN LATERAL (SELECT a.gang_id) AS lease (gang)
        WHERE a.id > $3 AND ($1::text IS NULL OR a.project_id = $1)
            AND (a.gang_id IS NULL OR a.nodes > 1)
            AND ($2::text IS NULL
                OR CASE WHEN a.gang_id IS NULL THEN {STATUS} ELSE ({GANG_STATUS}) END = $2)
            AND ($5 OR a.project_id = ANY($6) OR p.organization_id = ANY($7))
        ORDER BY a.id LIMIT $4
        """,
        project,
        status,
        after,
        limit,
        reach.whole,
        reach.projects,
        reach.organizations,
    )
    return [read(row) for row in rows]


async def insert(tx: Tx, new: Sequence[Allocation]) -> None:
    """Leases that begin to wait."""
    await tx.connection.executemany(
        """
        INSERT INTO allocations (id, tenant_id, project_id, sku_id, shape, family, gpus,
            price_micros_per_gpu_hour, currency, desired, desired_at, revision, created_at,
            created_by, correlation_id, priority, asked_site_id, terms, queued_at, expires_at,
            ends_at, gang_id, nodes)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
            $19, $20, $21, $22, $23)
        """,
        [
            (
                a.id, a.tenant_id, a.project_id, a.sku_id, a.shape, a.family, a.gpus,
                a.price_micros_per_gpu_hour, a.currency, a.desired, a.desired_at, a.revision,
                a.created_at, a.created_by, a.correlation_id, a.wait.priority,
                a.wait.asked_site_id, a.wait.terms, a.wait.queued_at, a.wait.expires_at,
                a.wait.ends_at, a.gang_id, a.nodes,
            )
            for a in new
        ],
    )  # fmt: skip


async def first_active_of(tx: Tx, tenant_id: TenantId) -> AllocationId | None:
    """One that is to be released still, be it placed or waiting."""
    id: str | None = await tx.fetchval(
        """
        SELECT id FROM allocations
        WHERE tenant_id = $1 AND freed_at IS NULL AND desired = 'active' ORDER BY id LIMIT 1
        """,
        tenant_id,
    )
    return AllocationId(id) if id else None


async def held_by(tx: Tx, tenant_id: TenantId) -> int:
    """How many leases hold slots whose cleanup is not proven."""
    count: int = await tx.fetchval(
        """
        SELECT count(*) FROM allocations
        WHERE tenant_id = $1 AND freed_at IS NULL AND placed_at IS NOT NULL
        """,
        tenant_id,
    )
    return count


async def held_on(tx: Tx, node_id: NodeId) -> list[AllocationId]:
    """The leases that hold slots of a node, but for those whose release was abandoned."""
    rows = await tx.fetch(
        """
        SELECT DISTINCT a.id FROM slots s JOIN claims c ON c.slot_id = s.id AND c.freed_at IS NULL
            JOIN allocations a ON a.id = c.allocation_id
        WHERE s.node_id = $1 AND a.abandoned_at IS NULL ORDER BY a.id
        """,
        node_id,
    )
    return [AllocationId(row["id"]) for row in rows]


async def running_slices(
    tx: Tx, families: Sequence[str], site_ids: Sequence[str]
) -> list[asyncpg.Record]:
    """Slices that run, each with its slots and the request that it was placed for."""
    return await tx.fetch(
        """
        SELECT a.id, a.tenant_id, a.node_id, a.slot_ids, r.receipt::json -> 'request' AS request
        FROM allocations a
        JOIN fleet_changes r ON r.allocation_id = a.id AND r.kind = 'claim'
        WHERE a.freed_at IS NULL AND a.shape = 'gpu_slice' AND a.desired = 'active'
            AND a.observed = 'active' AND a.family = ANY($1) AND a.site_id = ANY($2)
        """,
        list(families),
        list(site_ids),
    )


async def running_stamp(tx: Tx) -> tuple[object, ...]:
    """Differs whenever a slice began to run or no longer does."""
    row = await tx.fetchrow(
        """
        SELECT count(*), max(desired_at), max(observed_at) FROM allocations
        WHERE freed_at IS NULL AND shape = 'gpu_slice' AND desired = 'active'
            AND observed = 'active'
        """
    )
    return tuple(row) if row else ()


async def desire(tx: Tx, id: AllocationId, desired: Desired, revision: int) -> None:
    await tx.execute(
        "UPDATE allocations SET desired = $2, desired_at = $3, revision = $4 WHERE id = $1",
        id,
        desired,
        tx.now,
        revision,
    )


async def ask_cleanup(tx: Tx, id: AllocationId, nonces: dict[SlotId, bytes]) -> None:
    """Fresh nonces for live claims: only proofs made after this count."""
    await tx.execute(
        """
        UPDATE claims c SET cleanup_nonce = asked.nonce, blocked_reason = ''
        FROM unnest($2::text[], $3::bytea[]) AS asked (slot_id, nonce)
        WHERE c.slot_id = asked.slot_id AND c.allocation_id = $1 AND c.freed_at IS NULL
        """,
        id,
        list(nonces),
        list(nonces.values()),
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
        "UPDATE claims SET blocked_reason = $3 WHERE fence = $2 AND slot_id = $1",
        slot_id,
        fence,
        reason,
    )


async def abandon(
    tx: Tx, allocation: Allocation, *, by: str, reason: str, evidence: dict[str, object]
) -> None:
    """With its evidence: the database abandons no lease without."""
    await tx.execute(
        """
        INSERT INTO abandonments (allocation_id, tenant_id, by, reason, evidence, at)
        VALUES ($1, $2, $3, $4, $5, $6)
        """,
        allocation.id,
        allocation.tenant_id,
        by,
        reason,
        evidence,
        tx.now,
    )
    await tx.execute(
        "UPDATE allocations SET abandoned_at = $2 WHERE id = $1", allocation.id, tx.now
    )


async def free(tx: Tx, allocation: Allocation, proven: Sequence[Proven]) -> None:
    """With their proofs: the database frees no claim without the proof of its slot and fence."""
    await tx.execute(
        """
        WITH proofs AS (
            INSERT INTO cleanup_proofs (id, slot_id, fence, allocation_id, tenant_id, payload,
                signature, proven_at)
            SELECT new.id, new.slot, new.fence, $1, $2, new.payload, new.signature, $3
            FROM unnest($4::text[], $5::text[], $6::bigint[], $7::bytea[], $8::bytea[])
                AS new (id, slot, fence, payload, signature))
        UPDATE claims c SET freed_at = $3, blocked_reason = ''
        FROM unnest($5::text[], $6::bigint[]) AS proven (slot, fence)
        WHERE c.slot_id = proven.slot AND c.fence = proven.fence AND c.freed_at IS NULL
        """,
        allocation.id,
        allocation.tenant_id,
        tx.now,
        [one.id for one in proven],
        [one.slot.id for one in proven],
        [one.slot.fence for one in proven],
        [one.signed.payload for one in proven],
        [one.signed.signature for one in proven],
    )


async def finish_if_freed(tx: Tx, id: AllocationId) -> bool:
    """Mark the allocation freed once none of its slots is held."""
    changed = await tx.execute(
        """
        UPDATE allocations a SET freed_at = $2
        WHERE id = $1 AND freed_at IS NULL AND NOT EXISTS (SELECT FROM claims c
            WHERE c.slot_id = ANY(a.slot_ids) AND c.allocation_id = $1 AND c.freed_at IS NULL)
        """,
        id,
        tx.now,
    )
    return changed > 0
