"""A lease of several whole nodes: a gang of allocations, one for each node, seen as one. Pure.

The first of them, the lead, has the lease's id. Sites and agents know nothing of gangs: to them
each member is a lease.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from penstock.central.allocations.model import Allocation, Status

NODES_MAX: Final = 256
# A gang has the first of these that any member has. So it is failed when one failed, active only
# when all are, released only when all are; only a lead waits for room.
PRECEDENCE: Final = (
    Status.FAILED,
    Status.CLEANUP_BLOCKED,
    Status.RELEASING,
    Status.ABANDONED,
    Status.PLACED,
    Status.ACTIVE,
    Status.RELEASED,
    Status.EXPIRED,
    Status.QUEUED,
)


@dataclass(frozen=True)
class Lease:
    """What its tenant sees as one. `members` are none unless it is a gang that was placed."""

    allocation: Allocation
    members: tuple[Allocation, ...] = ()


def status(members: Sequence[Allocation]) -> Status:
    return _telling(members).status


def as_one(members: Sequence[Allocation]) -> Lease:
    """The lead, in the states of the member that the gang's status is of."""
    lead = lead_of(members)
    shown = replace(
        _telling(members),
        id=lead.id,
        nodes=lead.nodes,
        node_id=lead.node_id,
        slot_ids=lead.slot_ids,
        wait=lead.wait,
    )
    return Lease(shown, tuple(members) if lead.placed_at else ())


def lead_of(members: Sequence[Allocation]) -> Allocation:
    return next(member for member in members if member.id == member.gang_id)


def _telling(members: Sequence[Allocation]) -> Allocation:
    """Of several, the first."""
    return min(members, key=lambda member: PRECEDENCE.index(member.status))
