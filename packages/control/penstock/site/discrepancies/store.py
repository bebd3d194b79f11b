"""All SQL that touches the discrepancies table."""

from collections.abc import Iterable

from penstock.kernel.db import Tx
from penstock.site.discrepancies.model import Discrepancy, Kind


async def found(tx: Tx, node_id: str) -> dict[Discrepancy, bool]:
    """What the last comparison found, and whether central was told of it."""
    rows = await tx.fetch(
        """
        SELECT allocation_id, kind, runtime_id, told FROM discrepancies
        WHERE node_id = $1 ORDER BY allocation_id, kind FOR UPDATE
        """,
        node_id,
    )
    return {
        Discrepancy(row["allocation_id"], Kind(row["kind"]), row["runtime_id"]): row["told"]
        for row in rows
    }


async def keep(
    tx: Tx, node_id: str, fresh: Iterable[Discrepancy], confirmed: Iterable[Discrepancy]
) -> None:
    """These are found, and no others; central is told of those that were found before."""
    await tx.execute("DELETE FROM discrepancies WHERE node_id = $1", node_id)
    rows = [(one, False) for one in fresh] + [(one, True) for one in confirmed]
    for one, told in rows:
        await tx.execute(
            "INSERT INTO discrepancies VALUES ($1, $2, $3, $4, $5)",
            node_id,
            one.allocation_id,
            one.kind,
            one.runtime_id,
            told,
        )
