"""All SQL that touches the leases, observations and steps tables."""

from dataclasses import dataclass
from datetime import datetime

from penstock.kernel.db import Tx
from penstock_contracts.wire_pb2 import DesiredAllocation


@dataclass(frozen=True)
class Lease:
    """The newest desired document of an allocation."""

    document: DesiredAllocation

    @property
    def id(self) -> str:
        return self.document.allocation_id

    @property
    def revision(self) -> int:
        return self.document.revision


async def put(tx: Tx, document: DesiredAllocation) -> bool:
    """Keep it if it is newer than what is kept; whether it is."""
    changed = await tx.execute(
        """
        INSERT INTO leases AS l (allocation_id, revision, document, received_at)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT (allocation_id) DO UPDATE
            SET revision = excluded.revision, document = excluded.document,
                received_at = excluded.received_at
            WHERE l.revision < excluded.revision
        """,
        document.allocation_id,
        document.revision,
        document.SerializeToString(),
        tx.now,
    )
    return changed > 0


async def get(tx: Tx, id: str, *, lock: bool = False) -> Lease:
    body: bytes | None = await tx.fetchval(
        f"SELECT document FROM leases WHERE allocation_id = $1 {'FOR UPDATE' if lock else ''}", id
    )
    if body is None:
        raise LookupError(f"there is no lease {id}")
    return Lease(DesiredAllocation.FromString(body))


async def unstarted(tx: Tx) -> list[Lease]:
    rows = await tx.fetch(
        "SELECT document FROM leases WHERE started_revision < revision ORDER BY received_at"
    )
    return [Lease(DesiredAllocation.FromString(row["document"])) for row in rows]


async def mark_started(tx: Tx, id: str, revision: int) -> None:
    await tx.execute(
        """
        UPDATE leases SET started_revision = greatest(started_revision, $2)
        WHERE allocation_id = $1
        """,
        id,
        revision,
    )


async def observe(tx: Tx, id: str, observed: str) -> datetime | None:
    """When it was observed, if this is the first time; None if it was observed before."""
    at: datetime | None = await tx.fetchval(
        """
        INSERT INTO observations (allocation_id, observed, at) VALUES ($1, $2, clock_timestamp())
        ON CONFLICT DO NOTHING RETURNING at
        """,
        id,
        observed,
    )
    return at


async def step(tx: Tx, lease: Lease, step: str, status: str) -> datetime | None:
    """When the step got there, if this is the first time; None if it was told before."""
    at: datetime | None = await tx.fetchval(
        """
        INSERT INTO steps (allocation_id, revision, step, status, at)
        VALUES ($1, $2, $3, $4, clock_timestamp()) ON CONFLICT DO NOTHING RETURNING at
        """,
        lease.id,
        lease.revision,
        step,
        status,
    )
    return at
