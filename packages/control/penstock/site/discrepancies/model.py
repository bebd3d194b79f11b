"""Where what a host holds differs from what its node should hold. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from penstock.site.tasks.model import Expected, Standing


class Kind(StrEnum):
    NOT_HELD = "not_held"  # the lease is active, and the host has no runtime for it
    NOT_LEASED = "not_leased"  # the host has a runtime that nobody leases
    OTHER_SLOTS = "other_slots"  # the runtime has other slots or fences than its lease


@dataclass(frozen=True)
class Held:
    runtime_id: str  # empty: only slots that are not clean
    slots: Mapping[str, int]  # their fences


@dataclass(frozen=True, order=True)
class Discrepancy:
    allocation_id: str
    kind: Kind
    runtime_id: str


def differences(
    expected: Mapping[str, Expected], held: Mapping[str, Held]
) -> frozenset[Discrepancy]:
    """Slots that are not clean are no discrepancy: their claims wait for a proof anyway."""
    running = {id: there for id, there in held.items() if there.runtime_id}
    due = {id: one for id, one in expected.items() if one.standing is Standing.HELD}
    missing = {Discrepancy(id, Kind.NOT_HELD, "") for id in due.keys() - running.keys()}
    strange = {
        Discrepancy(id, Kind.NOT_LEASED, there.runtime_id)
        for id, there in running.items()
        if id not in expected
    }
    mixed = {
        Discrepancy(id, Kind.OTHER_SLOTS, running[id].runtime_id)
        for id in due.keys() & running.keys()
        if dict(due[id].slots) != dict(running[id].slots)
    }
    return frozenset(missing | strange | mixed)
