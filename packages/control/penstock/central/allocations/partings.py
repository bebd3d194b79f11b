"""All SQL that touches the apart table: leases that may share no node."""

from collections.abc import Sequence

from penstock.central.allocations.model import Allocation
from penstock.kernel.db import Tx
from penstock_contracts.ids import AllocationId


async def keep(tx: Tx, made: Sequence[Allocation]) -> None:
    """What new leases asked for. To be asked before, or after, they are placed."""
    pairs = [(a.id, other, a.tenant_id) for a in made for other in set(a.wait.terms.apart_from)]
    if pairs:
        await tx.connection.executemany(
            "INSERT INTO apart (allocation_id, other_id, tenant_id) VALUES ($1, $2, $3)", pairs
        )


async def nodes_of_those_who_named(
    tx: Tx, leases: Sequence[AllocationId]
) -> dict[AllocationId, list[str]]:
    """By lease: where those are now who asked to stay apart from it."""
    rows = await tx.fetch(
        """
        SELECT p.other_id, array_agg(a.node_id) AS nodes
        FROM apart p JOIN allocations a ON a.id = p.allocation_id
        WHERE p.other_id = ANY($1) AND a.node_id IS NOT NULL AND a.freed_at IS NULL
        GROUP BY p.other_id
        """,
        list(leases),
    )
    return {AllocationId(row["other_id"]): row["nodes"] for row in rows}


async def forget(tx: Tx, leases: Sequence[AllocationId]) -> None:
    """These are over: nobody stays apart from them any more."""
    await tx.execute(
        "DELETE FROM apart WHERE allocation_id = ANY($1) OR other_id = ANY($1)", leases
    )
