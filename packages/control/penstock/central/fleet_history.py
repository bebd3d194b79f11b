"""The fleet's log as history: the fleet as it was, and how the log's beginning goes.

A line of a claim has the lease's receipt and goes with its lease; each node's last line stays.
What goes by itself are lines of nodes that a later one replaced, and of slots that were freed. So
the log before its start tells of leases and nodes, and no longer what was free when.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from penstock.central.fleet import Change, NodeRow
from penstock.kernel import logs
from penstock.kernel.db import Tx
from penstock.kernel.errors import Gone
from penstock.kernel.logs import Row
from penstock_contracts.ids import AllocationId

LOG: Final = "fleet"


async def refuse_trimmed(tx: Tx, revision: int) -> None:
    """Whether the fleet of that revision can be known."""
    begins = (await logs.start(tx, LOG)).seq
    if revision < begins:
        raise Gone(
            f"the fleet's log begins after revision {begins}; as it was at revision {revision} it "
            "is not known here any more, so that placement cannot be decided again",
            code="fleet_log_trimmed",
            suggestion="its receipt stands; the log up to there was exported to object storage",
        )


async def nodes_at(tx: Tx, revision: int, family: str) -> list[NodeRow]:
    """The family's nodes as they were, with what was free then.

    Each as its last line says. A slot was free if the next line that names it claims it; if none
    does, it was as it is now.
    """
    rows = await tx.fetch(
        """
        SELECT node FROM (
            SELECT DISTINCT ON (node_id) node FROM fleet_changes
            WHERE kind = 'node' AND revision <= $1 ORDER BY node_id, revision DESC) AS last
        WHERE node ->> 'family' = $2
        """,
        revision,
        family,
    )
    nodes: list[NodeRow] = [row["node"] for row in rows]
    later = await tx.fetch(
        """
        SELECT kind = 'claim' AS claims, slot_ids FROM fleet_changes
        WHERE kind <> 'node' AND revision > $1 ORDER BY revision DESC
        """,
        revision,
    )
    was_free = {slot: row["claims"] for row in later for slot in row["slot_ids"]}
    held = await tx.fetch("SELECT slot_id FROM claims WHERE freed_at IS NULL")
    held_now = {row["slot_id"] for row in held}
    for node in nodes:
        slots = node["slot_ids"] or []
        node["free"] = [was_free.get(slot, slot not in held_now) for slot in slots]
    return nodes


async def rows(tx: Tx, after: int, before: datetime, limit: int) -> list[Row]:
    """The log's beginning, up to the first line that is younger: each as text to be exported, with
    the proofs of what it frees."""
    found = await tx.fetch(
        """
        WITH page AS MATERIALIZED (
            SELECT * FROM fleet_changes WHERE revision > $1 ORDER BY revision LIMIT $3
        ), young AS (SELECT min(revision) AS revision FROM page WHERE at >= $2)
        SELECT f.revision AS seq, f.at, jsonb_build_array(f.revision, f.kind, f.node_id,
            f.allocation_id, f.tenant_id, to_jsonb(f.slot_ids), f.node, f.receipt::jsonb,
            proofs.of_slots, (extract(epoch FROM f.at) * 1000000)::bigint)::text AS entry
        FROM page f CROSS JOIN young LEFT JOIN LATERAL (
            SELECT jsonb_agg(jsonb_build_object('id', p.id, 'slot', p.slot_id, 'fence', p.fence,
                'payload', encode(p.payload, 'base64'), 'signature', encode(p.signature, 'base64'))
                ORDER BY p.slot_id) AS of_slots
            FROM fleet_changes c JOIN cleanup_proofs p
                ON p.fence = c.revision AND p.slot_id = ANY(f.slot_ids)
            WHERE f.kind = 'free' AND c.kind = 'claim' AND c.allocation_id = f.allocation_id
        ) AS proofs ON true
        WHERE young.revision IS NULL OR f.revision < young.revision ORDER BY f.revision
        """,
        after,
        before,
        limit,
    )
    return [Row(row["seq"], row["at"], row["entry"]) for row in found]


async def trim(tx: Tx, after: int, until: int) -> int:
    """Delete what goes by itself of these lines, and lines of nodes that they replaced. The log's
    last line stays; if line `after` was that, it goes now."""
    freed = await tx.execute(
        """
        DELETE FROM fleet_changes WHERE revision >= $1 AND revision <= $2 AND kind = 'free'
            AND revision < (SELECT max(revision) FROM fleet_changes)
        """,
        after,
        until,
    )
    replaced = await tx.execute(
        """
        DELETE FROM fleet_changes f USING (
            SELECT node_id, max(revision) AS last FROM fleet_changes
            WHERE kind = 'node' AND revision > $1 AND revision <= $2 GROUP BY node_id) AS newer
        WHERE f.kind = 'node' AND f.node_id = newer.node_id AND f.revision < newer.last
        """,
        after,
        until,
    )
    return freed + replaced


async def claims_of(tx: Tx, ids: Sequence[AllocationId]) -> list[Change]:
    """The lines by which these leases were placed."""
    rows = await tx.fetch(
        """
        SELECT revision, kind, node_id, slot_ids FROM fleet_changes
        WHERE allocation_id = ANY($1) AND kind = 'claim'
        """,
        ids,
    )
    return [Change(r["revision"], r["kind"], r["node_id"], tuple(r["slot_ids"])) for r in rows]


async def forget(tx: Tx, ids: Sequence[AllocationId]) -> None:
    """Delete the lines by which these leases, which are over, were placed, and their receipts."""
    await tx.execute(
        "DELETE FROM fleet_changes WHERE allocation_id = ANY($1) AND kind = 'claim'", ids
    )
