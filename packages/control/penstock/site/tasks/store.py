"""All SQL that touches the tasks table."""

from datetime import datetime

from penstock.kernel.db import Tx


async def add(tx: Tx, id: str, node_id: str, allocation_id: str | None, deadline: datetime) -> bool:
    """Whether it is new."""
    added = await tx.execute(
        """
        INSERT INTO tasks (id, node_id, allocation_id, created_at, deadline)
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
        """,
        id,
        node_id,
        allocation_id,
        tx.now,
        deadline,
    )
    return added > 0


async def result(tx: Tx, id: str) -> tuple[bytes | None, datetime]:
    """The signed answer, if there is one, and the deadline."""
    row = await tx.fetchrow("SELECT result, deadline FROM tasks WHERE id = $1", id)
    if row is None:
        raise LookupError(f"there is no task {id}")
    return row["result"], row["deadline"]


async def finish(tx: Tx, id: str, node_id: str, signed: bytes) -> bool:
    """Keep the first answer; whether this was it."""
    changed = await tx.execute(
        """
        UPDATE tasks SET result = $3, finished_at = $4
        WHERE id = $1 AND node_id = $2 AND result IS NULL
        """,
        id,
        node_id,
        signed,
        tx.now,
    )
    return changed > 0
