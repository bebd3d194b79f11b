"""A node and its posture. The posture is derived, never stored. Pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypedDict

from penstock.central.slots.model import Slot, SlotState
from penstock_contracts.ids import NodeId, SiteId, TenantId


class Posture(StrEnum):
    RETIRED = "retired"  # gone for good; its history stays
    RETIRING = "retiring"  # leases end as they would, new ones stop, then it is retired
    FULLY_AVAILABLE = "fully_available"  # nothing claimed, and schedulable
    PARTIALLY_ALLOCATED = "partially_allocated"  # some approved slots are claimed
    FULLY_ALLOCATED_BY_SLICES = "fully_allocated_by_slices"  # no slot is left
    EXCLUSIVELY_ALLOCATED = "exclusively_allocated_by_baremetal"  # one lease holds the node
    DRAINING = "draining"  # leases go on, new ones stop
    CLEANUP_BLOCKED = "cleanup_blocked"  # a slot's cleanup is not proven
    UNAVAILABLE = "unavailable"  # not connected, not approved, not ready or not trusted


@dataclass(frozen=True)
class Node:
    id: NodeId
    site_id: SiteId
    name: str
    public_key: bytes
    hardware: str
    family: str
    fault: str
    unready: str  # which readiness checks its last evidence failed; empty if it passed all
    draining: bool
    drain_reason: str
    connected: bool
    away_reason: str  # why its site does not count it as connected; empty if it is just not there
    presence_at: datetime | None
    enrolled_at: datetime
    discovered: bool
    leaf: str  # what an operator says, or else what was discovered
    tags: tuple[str, ...]  # its own
    site_tags: tuple[str, ...]
    site_away: bool
    reserved_for: TenantId | None
    price_micros_per_gpu_hour: int  # what its source asks; 0 if that is not known
    retiring_at: datetime | None
    retired_at: datetime | None
    retire_reason: str
    replaces: NodeId | None  # whose place it took
    replaced_by: NodeId | None

    @property
    def tags_all(self) -> frozenset[str]:
        return frozenset((*self.tags, *self.site_tags))


class Purpose(StrEnum):
    """What a token that names a node is for."""

    REPLACE = "replace"  # another machine takes the place of a retired node
    REJOIN = "rejoin"  # the node comes back under a new key


class Changes(TypedDict, total=False):
    """What an operator may say of a node, as columns of its table."""

    tags: list[str]
    reserved_for: TenantId | None
    price_micros_per_gpu_hour: int
    leaf_assigned: str | None


def blocked(
    *,
    fault: str,
    unready: str,
    draining: bool,
    drain_reason: str,
    site_away: bool,
    connected: bool,
    away_reason: str,
) -> str:
    """Why nothing new may be placed on a node; empty if something may."""
    if fault:
        return "its evidence was not accepted"  # why may name another's node; tenants read this
    if unready:
        return unready
    if draining:
        return f"draining: {drain_reason}" if drain_reason else "draining"
    away = "its agent's link does not hold" if away_reason else ""  # tenants read this, too
    return out_of_reach(site_away=site_away, connected=connected, away_reason=away)


def out_of_reach(*, site_away: bool, connected: bool, away_reason: str) -> str:
    if site_away:
        return "its site is not connected"
    return "" if connected else away_reason or "its agent is not connected"


def posture(node: Node, slots: list[Slot], impossible: str = "") -> tuple[Posture, str]:
    """What the node is good for now, and why. `impossible` is what of its rows cannot be true."""
    chassis = [slot for slot in slots if slot.kind == "chassis"]
    gpus = [slot for slot in slots if slot.kind == "gpu"]
    stuck = [slot for slot in slots if slot.state is SlotState.CLEANUP_BLOCKED]
    if node.retiring_at:
        standing = Posture.RETIRED if node.retired_at else Posture.RETIRING
        return standing, node.retire_reason
    if wrong := node.fault or impossible or node.unready:
        return Posture.UNAVAILABLE, wrong
    if not any(slot.approved_at for slot in gpus):
        return Posture.UNAVAILABLE, "no slot is approved"
    if stuck:
        return Posture.CLEANUP_BLOCKED, f"slot {stuck[0].index}: {stuck[0].blocked_reason}"
    if node.draining:
        return Posture.DRAINING, node.drain_reason
    if away := out_of_reach(
        site_away=node.site_away, connected=node.connected, away_reason=node.away_reason
    ):
        return Posture.UNAVAILABLE, away
    return _occupancy(chassis, gpus), ""


def _occupancy(chassis: list[Slot], gpus: list[Slot]) -> Posture:
    if any(slot.allocation_id for slot in chassis):
        return Posture.EXCLUSIVELY_ALLOCATED
    held = sum(slot.allocation_id is not None for slot in gpus)
    if held == 0:
        return Posture.FULLY_AVAILABLE
    usable = any(slot.state is SlotState.APPROVED for slot in gpus)
    return Posture.PARTIALLY_ALLOCATED if usable else Posture.FULLY_ALLOCATED_BY_SLICES
