"""The SQL of leases whose end is set: who is over, who is to be warned, when the next is due."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from penstock.kernel import wakeups
from penstock.kernel.db import Tx
from penstock_contracts.ids import AllocationId

SET: Final = "allocations.ends"  # who waits for this is told when a lease with an end is placed
# Members of a gang end with their lead.
HELD: Final = """
    placed_at IS NOT NULL AND desired = 'active' AND ends_at IS NOT NULL
    AND (gang_id IS NULL OR nodes > 1)
"""


def tell(tx: Tx) -> None:
    """Have the timers of all replicas look again when this transaction commits."""
    wakeups.notify(tx, SET)


async def over(tx: Tx, limit: int) -> list[AllocationId]:
    """Those whose end has come, the first first; held until the transaction ends.

    Whom another transaction holds is left out: so replicas share the work, and nobody waits for a
    row while holding others.
    """
    return await _take(tx, f"{HELD} AND ends_at <= $1", limit, tx.now)


async def soon(tx: Tx, before: timedelta, limit: int) -> list[AllocationId]:
    """Those whose end is so near, and who have not been told; held as above."""
    which = f"{HELD} AND warned_at IS NULL AND ends_at > $1 AND ends_at <= $2"
    return await _take(tx, which, limit, tx.now, tx.now + before)


async def warned(tx: Tx, ids: Sequence[AllocationId]) -> None:
    await tx.execute("UPDATE allocations SET warned_at = $2 WHERE id = ANY($1)", list(ids), tx.now)


async def next_in_s(tx: Tx, before: timedelta) -> float | None:
    """In how many seconds someone is to be warned, or released; None if nobody has an end."""
    at: datetime | None = await tx.fetchval(
        f"""
        SELECT least(
            (SELECT min(ends_at) FROM allocations WHERE {HELD}),
            (SELECT min(ends_at) FROM allocations WHERE {HELD} AND warned_at IS NULL)
                - $1::interval)
        """,  # noqa: S608 # a constant of this file
        before,
    )
    return None if at is None else (at - tx.now).total_seconds()


async def _take(tx: Tx, which: str, limit: int, *args: datetime) -> list[AllocationId]:
    rows = await tx.fetch(
        f"""
        SELECT id FROM allocations WHERE {which}
        ORDER BY ends_at, id LIMIT {limit} FOR UPDATE SKIP LOCKED
        """,  # noqa: S608 # the callers are above
        *args,
    )
    return [AllocationId(row["id"]) for row in rows]
