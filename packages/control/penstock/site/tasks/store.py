"""All SQL that touches the tasks and holdings tables."""

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


async def expect_held(
    tx: Tx, node_id: str, allocation_id: str, standing: str, slots: dict[str, int]
) -> None:
    """From now on the node may hold this. An order to provision it never undoes one to release."""
    await tx.execute(
        """
        INSERT INTO holdings AS h (node_id, allocation_id, standing, slots) VALUES ($1, $2, $3, $4)
        ON CONFLICT (node_id, allocation_id) DO UPDATE
            SET standing = excluded.standing, slots = excluded.slots
            WHERE h.standing <> 'going'
        """,
        node_id,
        allocation_id,
        standing,
        slots,
    )


async def arrived(tx: Tx, node_id: str, allocation_id: str) -> None:
    """The node proved that the tenant has it."""
    await tx.execute(
        """
        UPDATE holdings SET standing = 'held'
        WHERE node_id = $1 AND allocation_id = $2 AND standing = 'coming'
        """,
        node_id,
        allocation_id,
    )


async def left(tx: Tx, node_id: str, allocation_id: str) -> None:
    await tx.execute(
        "DELETE FROM holdings WHERE node_id = $1 AND allocation_id = $2", node_id, allocation_id
    )


async def holdings(tx: Tx, node_id: str) -> list[tuple[str, str, dict[str, int]]]:
    """Of each allocation that the node should hold: how it stands, and its fences by slot."""
    rows = await tx.fetch(
        "SELECT allocation_id, standing, slots FROM holdings WHERE node_id = $1", node_id
    )
    return [(row["allocation_id"], row["standing"], row["slots"]) for row in rows]


async def forget(tx: Tx, before: datetime, limit: int) -> int:
    """Delete tasks whose deadline was before then, so many at most; how many they were."""
    return await tx.execute(
        """
        DELETE FROM tasks WHERE id IN (
            SELECT id FROM tasks WHERE deadline < $1 ORDER BY deadline LIMIT $2)
        """,
        before,
        limit,
    )
