"""All SQL that touches the slots table. The live claim comes with its slot."""

from typing import Any

import asyncpg

from penstock.central.slots.model import Slot
from penstock.kernel.db import Tx
from penstock.kernel.errors import NotFound
from penstock_contracts.ids import AllocationId, NodeId, SiteId, SlotId

SELECT = """
    SELECT s.id, s.node_id, s.kind, s.index, s.gpu_uuid, s.pci_address, s.nvme_serial,
        s.fabric_guid, s.numa_node, s.cpus, s.memory_mib, s.cleanup_steps, s.approved_at,
        coalesce(c.fence, (SELECT max(fence) FROM cleanup_proofs WHERE slot_id = s.id), 0) AS fence,
        c.allocation_id, c.cleanup_nonce, coalesce(c.blocked_reason, '') AS blocked_reason,
        s.retired_at
    FROM slots s LEFT JOIN claims c ON c.slot_id = s.id AND c.freed_at IS NULL
"""
ORDER = "ORDER BY s.node_id, s.kind, s.index"


def _slot(row: asyncpg.Record) -> Slot:
    values: dict[str, Any] = dict(row)  # its columns are the fields of Slot
    allocation: str | None = values["allocation_id"]
    values["id"] = SlotId(values["id"])
    values["node_id"] = NodeId(values["node_id"])
    values["cleanup_steps"] = tuple(values["cleanup_steps"])
    values["allocation_id"] = AllocationId(allocation) if allocation else None
    return Slot(**values)


async def get(tx: Tx, id: str) -> Slot:
    row = await tx.fetchrow(f"{SELECT} WHERE s.id = $1", id)
    if row is None:
        raise NotFound("slot", id)
    return _slot(row)


async def site_of(tx: Tx, node_id: NodeId) -> SiteId:
    return SiteId(await tx.fetchval("SELECT site_id FROM nodes WHERE id = $1", node_id))


async def unready(tx: Tx, node_id: NodeId) -> str:
    """Which readiness checks the node's last evidence failed."""
    return str(await tx.fetchval("SELECT unready FROM nodes WHERE id = $1", node_id))


async def of_nodes(tx: Tx, ids: list[NodeId]) -> list[Slot]:
    return [
        _slot(row) for row in await tx.fetch(f"{SELECT} WHERE s.node_id = ANY($1) {ORDER}", ids)
    ]


async def of_allocation(tx: Tx, id: AllocationId) -> list[Slot]:
    """The slots that the allocation holds now."""
    of_it = "s.id = ANY((SELECT slot_ids FROM allocations WHERE id = $1)::text[])"
    rows = await tx.fetch(f"{SELECT} WHERE {of_it} AND c.allocation_id = $1 {ORDER}", id)
    return [_slot(row) for row in rows]


async def owner_of_gpus(tx: Tx, uuids: list[str]) -> dict[str, NodeId]:
    rows = await tx.fetch(
        """
        SELECT gpu_uuid, node_id FROM slots
        WHERE kind = 'gpu' AND retired_at IS NULL AND gpu_uuid = ANY($1)
        """,
        uuids,
    )
    return {row["gpu_uuid"]: NodeId(row["node_id"]) for row in rows}


async def add(tx: Tx, slots: list[Slot]) -> None:
    await tx.connection.executemany(
        """
        INSERT INTO slots (id, node_id, kind, index, gpu_uuid, pci_address, nvme_serial,
            fabric_guid, numa_node, cpus, memory_mib, cleanup_steps)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        """,
        [
            (
                slot.id, slot.node_id, slot.kind, slot.index, slot.gpu_uuid, slot.pci_address,
                slot.nvme_serial, slot.fabric_guid, slot.numa_node, slot.cpus, slot.memory_mib,
                list(slot.cleanup_steps),
            )
            for slot in slots
        ],
    )  # fmt: skip


async def approve(tx: Tx, ids: list[SlotId], by: str) -> None:
    await tx.execute(
        "UPDATE slots SET approved_at = $2, approved_by = $3 WHERE id = ANY($1)", ids, tx.now, by
    )


async def retire(tx: Tx, node_id: NodeId) -> None:
    """Those that are proven clean, while their chassis is: the others keep their GPU."""
    await tx.execute(
        """
        UPDATE slots s SET retired_at = $2
        WHERE s.node_id = $1 AND NOT EXISTS (
            SELECT FROM slots o JOIN claims c ON c.slot_id = o.id AND c.freed_at IS NULL
            WHERE o.node_id = s.node_id AND (o.id = s.id OR o.kind = 'chassis'))
        """,
        node_id,
        tx.now,
    )
