"""The SQL of leases that wait, and of those whose end they wait for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from penstock.central.allocations.model import Allocation
from penstock.central.allocations.wait import Estimate, WaitedFor
from penstock.kernel.db import Tx
from penstock.kernel.questions import Question
from penstock.placement.line.waiting import Lease
from penstock.placement.model import WaitsFor
from penstock.placement.plans import Part
from penstock_contracts.ids import AllocationId, TenantId

QUEUED: Final = "placed_at IS NULL AND desired = 'active'"
ROUND_MAX: Final = 5000  # that one round looks at; whoever is further back is not in it
ENDING_MAX: Final = 512


@dataclass(frozen=True)
class Due:
    """Whether anyone waits, and in how many seconds time alone changes something for them."""

    waiting: bool
    in_s: float | None


def ids(tx: Tx) -> Question[list[AllocationId]]:
    """Who waits, held until the transaction ends: nobody cancels while it is being placed.

    Whoever waited too long comes first, so that none is left out by the limit.
    """
    return Question(
        f"""
        SELECT id FROM allocations WHERE {QUEUED}
        ORDER BY expires_at > $1, priority DESC, queued_at, id LIMIT {ROUND_MAX} FOR UPDATE
        """,  # noqa: S608 # constants of this file
        (tx.now,),
        lambda rows: [AllocationId(id) for id in rows],
    )


async def count(tx: Tx, tenant: TenantId) -> int:
    found: int = await tx.fetchval(
        f"SELECT count(*) FROM allocations WHERE tenant_id = $1 AND {QUEUED}",  # noqa: S608
        tenant,
    )
    return found


async def expire(tx: Tx, overdue: Sequence[AllocationId]) -> None:
    await tx.execute(
        """
        UPDATE allocations SET expired_at = $2, desired = 'released', desired_at = $2,
            revision = revision + 1, kept_nodes = '{}', estimate = NULL WHERE id = ANY($1)
        """,
        list(overdue),
        tx.now,
    )


async def place(tx: Tx, placed: Sequence[Allocation]) -> None:
    """They wait no longer."""
    if not placed:
        return
    await tx.execute(
        """
        UPDATE allocations a SET site_id = new.site, node_id = new.node,
            slot_ids = string_to_array(new.slots, ' '), placed_at = $5, kept_nodes = '{}',
            estimate = NULL
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS new (id, site, node, slots)
        WHERE a.id = new.id
        """,
        [a.id for a in placed],
        [a.where[0] for a in placed],
        [a.where[1] for a in placed],
        [" ".join(a.slot_ids) for a in placed],
        tx.now,
    )


async def tell(tx: Tx, told: Mapping[AllocationId, tuple[Estimate, tuple[str, ...]]]) -> None:
    """New estimates, and the nodes kept for each."""
    await tx.connection.executemany(
        "UPDATE allocations SET estimate = $2, kept_nodes = $3 WHERE id = $1",
        [(id, write_estimate(estimate), list(kept)) for id, (estimate, kept) in told.items()],
    )


async def keep_nothing(tx: Tx, ids: Sequence[AllocationId]) -> None:
    """No nodes are kept for these any more."""
    if ids:
        await tx.execute("UPDATE allocations SET kept_nodes = '{}' WHERE id = ANY($1)", list(ids))


async def kept_nodes(tx: Tx, priority: int) -> tuple[str, ...]:
    """The nodes that are kept for those who wait with this priority or a higher one."""
    rows = await tx.fetch(
        f"""
        SELECT DISTINCT unnest(kept_nodes) AS node FROM allocations
        WHERE {QUEUED} AND priority >= $1 ORDER BY node
        """,  # noqa: S608 # a constant of this file
        priority,
    )
    return tuple(row["node"] for row in rows)


async def ending(tx: Tx) -> list[Lease]:
    """Leases whose end is planned and has not passed: the soonest, no more than can matter."""
    return await _leases(
        tx,
        f"""
        a.id IN (SELECT id FROM allocations WHERE placed_at IS NOT NULL AND freed_at IS NULL
            AND ends_at > $1 ORDER BY ends_at LIMIT {ENDING_MAX})
        """,  # noqa: S608 # a constant of this file
        tx.now,
    )


async def leases_on(tx: Tx, nodes: Sequence[str]) -> list[Lease]:
    """The leases that hold something on these nodes."""
    return await _leases(tx, "a.node_id = ANY($1) AND a.freed_at IS NULL", list(nodes))


async def _leases(tx: Tx, which: str, *args: object) -> list[Lease]:
    """A gang is one, with a part for each of its nodes that was asked for."""
    rows = await tx.fetch(
        f"""
        SELECT coalesce(a.gang_id, a.id) AS id, a.tenant_id, a.gpus, a.ends_at, c.node_id,
            array_agg(c.slot_id ORDER BY c.slot_id) AS slots
        FROM allocations a JOIN claims c
            ON c.slot_id = ANY(a.slot_ids) AND c.allocation_id = a.id AND c.freed_at IS NULL
        WHERE {which} GROUP BY a.id, c.node_id ORDER BY 1, c.node_id
        """,  # noqa: S608 # the callers are above
        *args,
    )
    parts: dict[str, list[Part]] = {}
    for row in rows:
        parts.setdefault(row["id"], []).append(Part(row["node_id"], tuple(row["slots"])))
    return [
        Lease(id, row["tenant_id"], row["gpus"] * len(parts[id]), tuple(parts[id]), row["ends_at"])
        for id, row in {row["id"]: row for row in rows}.items()
    ]


async def due(tx: Tx) -> Due:
    """When someone's wait is over, an end that was planned comes, or a month begins: from then
    on money may be spent again."""
    row = await tx.fetchrow(
        f"""
        SELECT count(*) > 0 AS waiting, least(min(expires_at), (
            SELECT min(ends_at) FROM allocations
            WHERE placed_at IS NOT NULL AND freed_at IS NULL AND ends_at > $1),
            month_began((month_of($1) + interval '1 month')::date)) AS at
        FROM allocations WHERE {QUEUED}
        """,  # noqa: S608 # a constant of this file
        tx.now,
    )
    if row is None or not row["waiting"]:
        return Due(False, None)
    at: datetime = row["at"]
    return Due(True, max(0.0, (at - tx.now).total_seconds()))


def write_estimate(estimate: Estimate) -> dict[str, object]:
    return {
        "position": estimate.position,
        "at": estimate.at.isoformat() if estimate.at else None,
        "waits_for": estimate.waits_for,
        "leases": [[lease.allocation_id, lease.tenant_id] for lease in estimate.leases],
    }


def read_estimate(stored: Mapping[str, Any]) -> Estimate:
    """What `write_estimate` wrote."""
    at = stored["at"]
    leases = ((AllocationId(id), TenantId(tenant)) for id, tenant in stored["leases"])
    return Estimate(
        stored["position"],
        datetime.fromisoformat(at) if at else None,
        WaitsFor(stored["waits_for"]),
        tuple(WaitedFor(*lease) for lease in leases),
    )
