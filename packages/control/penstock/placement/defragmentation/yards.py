"""Yards: nodes between which leases may be moved.

The nodes of a yard are of one cohort, so no rule tells them apart: a lease that moves within
its yard keeps its policy, and nobody who sees one node of the yard does not see the others;
so a plan takes room from nobody. They also all have a fabric device for every GPU, or all not.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from penstock.placement.defragmentation.moves import Lease
from penstock.placement.index.families import Family, Row
from penstock.placement.kinds import cohorts
from penstock.placement.kinds.cohorts import Traits
from penstock.placement.kinds.layouts import Layout
from penstock.placement.kinds.states import State

NONE: Final[tuple[Lease, ...]] = ()


@dataclass(frozen=True)
class Berth:
    """A node with its leases. `held` is what stays as it is; `closed`: nothing may move here."""

    node_id: str
    layout: Layout
    slot_ids: tuple[str, ...]
    complete: bool
    closed: bool
    free: int  # a mask, as `held` and those of the leases are
    held: int
    leases: tuple[tuple[Lease, int], ...]


@dataclass(frozen=True)
class Yard:
    traits: Traits
    berths: list[Berth] = field(default_factory=list[Berth])


def survey(family: Family, site_id: str, leases: Iterable[Lease]) -> list[Yard]:
    """The yards of a site: what is read of the fleet, apart from it from then on.

    Leases that do not agree with the fleet stay where they are: either may be a moment older.
    """
    here: dict[str, list[Lease]] = {}
    for lease in leases:
        here.setdefault(lease.node_id, []).append(lease)
    yards: dict[tuple[Traits, bool], Yard] = {}
    for id in sorted(family.rows):
        row = family.rows[id]
        traits = row.cohort.traits
        if traits.site_id != site_id or traits.blocked or not isinstance(row.state, State):
            continue
        key = (traits, row.layout.on_fabric)
        yard = yards.setdefault(key, Yard(traits))
        yard.berths.append(_berth(id, row, family, here.get(id, [])))
    return list(yards.values())


def _berth(id: str, row: Row, family: Family, leases: list[Lease]) -> Berth:
    free = family.columns.free.item(row.number) if row.chassis_free else 0
    # Who must stay apart from others stays, and others stay away.
    apart = any(lease.request.apart_from for lease in leases)
    # A GPU that is not approved would not be free once its lease has left.
    movable = not apart and row.chassis_free and row.approved == row.layout.gpus
    bits = {slot: 1 << n for n, slot in enumerate(row.slot_ids)}
    found: list[tuple[Lease, int]] = []
    taken = free
    for lease in sorted(leases, key=lambda lease: lease.id) if movable else NONE:
        mask = sum(bits.get(slot, 0) for slot in set(lease.slot_ids))
        known = mask.bit_count() == lease.gpus and not mask & taken
        if known and cohorts.failed(lease.request, row.cohort.traits) is None:
            found.append((lease, mask))
            taken |= mask
    return Berth(
        node_id=id,
        layout=row.layout,
        slot_ids=row.slot_ids,
        complete=row.complete and row.chassis_free,
        closed=apart or not row.chassis_free,
        free=free,
        held=((1 << row.layout.gpus) - 1) & ~taken,
        leases=tuple(found),
    )
