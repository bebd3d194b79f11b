"""The fleet's lock and its log of changes.

Whoever changes what can be placed (claims, slots, nodes) first takes the fleet's lock,
then says what changed. So a holder of the lock knows, from its own revision and the log,
exactly what is free: the lock is the leader. The log also remembers: any placement can be
replayed on the fleet as it was.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypedDict, cast

from penstock.kernel import wakeups
from penstock.kernel.db import Tx
from penstock.kernel.questions import Question
from penstock_contracts.ids import AllocationId, NodeId, SiteId, SlotId, TenantId

LOCK: Final = 0x464C4545  # "FLEE"
AT_ONCE: Final = 128  # nodes: what they take must fit the buffer of a socket
ROOM: Final = "room"  # told when something may fit that did not before


class NodeRow(TypedDict):
    """A row of `fleet_nodes`; the lists are in the order of its slots."""

    id: str
    site_id: str
    family: str
    fault: str
    draining: bool
    drain_reason: str
    connected: bool
    site_away: bool
    discovered: bool
    leaf: str
    tags: list[str]  # its own and its site's
    reserved_for: str | None
    price_micros_per_gpu_hour: int
    slot_ids: list[str] | None  # None until it was discovered
    kinds: list[str]
    indexes: list[int]
    numa_nodes: list[int]
    fabrics: list[str]
    approved: list[bool]
    free: list[bool]
    unready: str
    away_reason: str


class Change(NamedTuple):
    revision: int
    kind: str
    node_id: str
    slot_ids: tuple[str, ...]


async def lock(tx: Tx) -> None:
    """Held until the transaction ends. Take it before any row of the fleet."""
    await tx.lock(LOCK)


async def changed(tx: Tx, *nodes: NodeId) -> None:
    """These nodes, or their slots, are now as the database says."""
    await _changed(tx, "n.id = ANY($1)", nodes)


async def changed_at(tx: Tx, site: SiteId) -> None:
    """What is true of each node of the site changed."""
    await _changed(tx, "n.site_id = $1", site)


async def _changed(tx: Tx, which: str, meant: object) -> None:
    await tx.execute(
        f"""
        INSERT INTO fleet_changes (revision, kind, node_id, node, at)
        SELECT head.revision + row_number() OVER (ORDER BY n.id), 'node', n.id, to_jsonb(n), $2
        FROM fleet_nodes n, (SELECT coalesce(max(revision), 0) FROM fleet_changes) head (revision)
        WHERE {which}
        """,  # noqa: S608 # the callers are above
        meant,
        tx.now,
    )
    wakeups.notify(tx, ROOM)


async def freed(
    tx: Tx, node: NodeId, slots: Sequence[SlotId], allocation: AllocationId, tenant: TenantId
) -> None:
    """These slots of the node may be claimed again."""
    await tx.execute(
        """
        INSERT INTO fleet_changes
            (revision, kind, node_id, slot_ids, allocation_id, tenant_id, at)
        SELECT coalesce(max(revision), 0) + 1, 'free', $1, $2, $3, $4, $5 FROM fleet_changes
        """,
        node,
        slots,
        allocation,
        tenant,
        tx.now,
    )
    wakeups.notify(tx, ROOM)


def changes_since(revision: int) -> Question[list[Change]]:
    """A busy fleet has many, so each comes as one text, which is read far quicker than a row."""
    return Question(
        """
        SELECT concat_ws(' ', revision, kind, node_id, array_to_string(slot_ids, ' '))
        FROM fleet_changes WHERE revision > $1 ORDER BY revision
        """,
        (revision,),
        lambda lines: [_change(line) for line in lines],
    )


def _change(line: str) -> Change:
    revision, kind, node_id, *slot_ids = line.split(" ")
    return Change(int(revision), kind, node_id, tuple(slot_ids))


async def revision(tx: Tx) -> int:
    """Of the last change."""
    last: int = await tx.fetchval("SELECT coalesce(max(revision), 0) FROM fleet_changes")
    return last


async def nodes(tx: Tx, ids: Sequence[str]) -> list[NodeRow]:
    """These nodes as the solver sees them."""
    rows = await tx.fetch("SELECT * FROM fleet_nodes WHERE id = ANY($1)", ids)
    return [cast("NodeRow", dict(row)) for row in rows]


async def all_nodes(tx: Tx, use: Callable[[list[NodeRow]], None]) -> None:
    """Have every node used as the solver sees it, some at a time."""
    await tx.each(
        "SELECT * FROM fleet_nodes",
        lambda rows: use([cast("NodeRow", dict(row)) for row in rows]),
        at_once=AT_ONCE,
    )


async def claimed(tx: Tx, id: AllocationId) -> tuple[Change, Mapping[str, Any]] | None:
    """The line of the log by which the lease was placed, and its receipt."""
    row = await tx.fetchrow(
        """
        SELECT revision, kind, node_id, slot_ids, receipt::json FROM fleet_changes
        WHERE allocation_id = $1 AND kind = 'claim'
        """,
        id,
    )
    if row is None:
        return None
    revision, kind, node_id, slot_ids, receipt = row
    return Change(revision, kind, node_id, tuple(slot_ids)), receipt
