"""What is left of leases that are over goes when it is old, once it is exported.

The lease itself, its claims, its cleanup proofs and its line of the fleet's log go together; usage
stays. A lease waits until the line that freed its last slot was exported, which has the proofs, and
until no time of it is disputed.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from penstock.central import fleet, fleet_history
from penstock.central.allocations import partings
from penstock.central.disputes import service as disputes
from penstock.kernel import logs
from penstock.kernel.db import Database, Tx
from penstock.kernel.retention import Batch, Kind
from penstock_contracts.failpoints import Failpoint
from penstock_contracts.ids import AllocationId

BATCH: Final = 200
NEVER: Final = datetime.min.replace(tzinfo=UTC)
# Of a lease `a`, before $1.
OVER: Final = """
    (a.freed_at IS NOT NULL OR (a.placed_at IS NULL AND a.desired = 'released'))
    AND coalesce(a.freed_at, a.desired_at) < $1
"""
EXPORTED: Final = "(a.freed_at IS NULL OR a.freed_at < $2 OR $5) AND a.id <> ALL($3::text[])"
WAIT: Final = (
    "leases that are over wait until their lines of the fleet's log are exported, or until a "
    "disputed time is settled"
)
FORGOTTEN: Final = Failpoint("central.retention.lease_forgotten")  # and that is not committed


def kind(database: Database, kept: timedelta) -> Kind:
    async def trim(before: datetime) -> Batch:
        gone = await database.run(lambda tx: forget(tx, before, BATCH))
        if gone >= BATCH:
            return Batch(gone, more=True)
        waits = await database.run(lambda tx: _waits(tx, before))
        return Batch(gone, held=WAIT if waits else "")

    return Kind("leases", kept, trim)


async def forget(tx: Tx, before: datetime, limit: int) -> int:
    """Delete leases that were over before then, so many at most, and each gang whole; how many
    allocations they were."""
    ids = await _over(tx, before, limit)
    if not ids:
        return 0
    await partings.forget(tx, ids)
    await disputes.forget(tx, ids)
    await _forget_claims(tx, ids)
    await fleet_history.forget(tx, ids)
    await tx.execute("DELETE FROM abandonments WHERE allocation_id = ANY($1)", ids)
    gone = await tx.execute("DELETE FROM allocations WHERE id = ANY($1)", ids)
    FORGOTTEN.hit()
    return gone


async def _over(tx: Tx, before: datetime, limit: int) -> list[AllocationId]:
    start = await logs.start(tx, fleet_history.LOG)
    # Lines of one moment may be on both sides of the start, unless there are none after it.
    whole = start.seq == await fleet.revision(tx)
    # A gang is found by its lead, once all of it may go.
    leases = await tx.fetch(
        f"""
        SELECT a.id FROM allocations a
        WHERE {OVER} AND {EXPORTED} AND (a.gang_id IS NULL OR a.gang_id = a.id AND NOT EXISTS (
            SELECT FROM allocations m WHERE m.gang_id = a.id AND m.id NOT IN (
                SELECT a.id FROM allocations a
                WHERE a.gang_id = m.gang_id AND {OVER} AND {EXPORTED})))
        ORDER BY coalesce(a.freed_at, a.desired_at) LIMIT $4 FOR UPDATE SKIP LOCKED
        """,  # noqa: S608 constants
        before,
        start.at or NEVER,
        await disputes.unsettled(tx),
        limit,
        whole,
    )
    found = [AllocationId(row["id"]) for row in leases]
    rows = await tx.fetch(
        "SELECT id FROM allocations WHERE gang_id = ANY($1) AND id <> ALL($1)", found
    )
    return [*found, *(AllocationId(row["id"]) for row in rows)]


async def _forget_claims(tx: Tx, ids: Sequence[AllocationId]) -> None:
    """With their proofs; they are found by their fences, which are revisions of the log."""
    lines = await fleet_history.claims_of(tx, ids)
    held = [(line.revision, slot) for line in lines for slot in line.slot_ids]
    fences, slots = [fence for fence, _ in held], [slot for _, slot in held]
    for delete_from in ("DELETE FROM claims", "DELETE FROM cleanup_proofs"):
        await tx.execute(
            f"""
            {delete_from} t USING unnest($1::bigint[], $2::text[]) AS held (fence, slot_id)
            WHERE t.fence = held.fence AND t.slot_id = held.slot_id
            """,
            fences,
            slots,
        )


async def _waits(tx: Tx, before: datetime) -> bool:
    waits: bool = await tx.fetchval(
        f"""
        SELECT EXISTS (SELECT FROM allocations a WHERE {OVER})
        """,  # noqa: S608 a constant
        before,
    )
    return waits
