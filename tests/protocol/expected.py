"""What claims must be, as a few sets: the model that the database is compared with. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.placement.model import Shape


@dataclass
class Slot:
    """`holder` has the live claim."""

    id: str
    chassis: bool
    approved: bool = False
    holder: str = ""

    @property
    def usable(self) -> bool:
        return self.approved and not self.holder


@dataclass
class Node:
    id: str
    slots: list[Slot]
    draining: bool = False
    away: bool = False

    @property
    def gpus(self) -> list[Slot]:
        return [slot for slot in self.slots if not slot.chassis]

    @property
    def chassis(self) -> Slot:
        return next(slot for slot in self.slots if slot.chassis)

    def fits(self, shape: Shape, gpus: int) -> bool:
        if self.draining or self.away:
            return False
        if shape is Shape.BAREMETAL:
            return len(self.gpus) == gpus and all(slot.usable for slot in self.slots)
        return not self.chassis.holder and sum(slot.usable for slot in self.gpus) >= gpus


@dataclass
class Lease:
    id: str
    tenant: str
    shape: Shape
    gpus: int
    node: Node
    slots: list[Slot]
    revision: int = 1
    released: bool = False

    @property
    def held(self) -> list[Slot]:
        return [slot for slot in self.slots if slot.holder == self.id]

    @property
    def live(self) -> bool:
        return bool(self.held)


@dataclass(frozen=True)
class Wish:
    """What a lease that waits is for."""

    tenant: str
    shape: Shape
    gpus: int


@dataclass(frozen=True)
class Claim:
    slot: str
    fence: int
    lease: str
    live: bool


Holds = dict[str, list[tuple[str, bool]]]  # by slot, in order: whose it was, and whether it is


@dataclass
class Expected:
    nodes: list[Node]
    limits: dict[str, int | None]
    leases: dict[str, Lease] = field(default_factory=dict[str, Lease])
    history: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    blocked: set[str] = field(default_factory=set[str])  # slots
    waiting: dict[str, Wish] = field(default_factory=dict[str, Wish])

    def place(
        self, id: str, tenant: str, shape: Shape, gpus: int, node_id: str, slot_ids: list[str]
    ) -> None:
        """Believe a placement, after asking everything of it."""
        (node,) = [node for node in self.nodes if node.id == node_id]
        assert node.fits(shape, gpus), f"{node_id} cannot take {gpus} as {shape}"
        slots = [slot for slot in node.slots if slot.id in slot_ids]
        assert len(slots) == len(slot_ids), "slots of one node, each once"
        wanted = gpus + (shape is Shape.BAREMETAL)
        assert len(slots) == wanted, "all of it or nothing"
        assert any(slot.chassis for slot in slots) == (shape is Shape.BAREMETAL)
        assert self.refusal(tenant, shape, gpus) != "quota_exceeded"
        for slot in slots:
            assert slot.usable, f"{slot.id} is held by {slot.holder!r}"
            slot.holder = id
            self.history.append((slot.id, id))
        self.leases[id] = Lease(id, tenant, shape, gpus, node, slots)

    def refusal(
        self, tenant: str, shape: Shape, gpus: int, kept: frozenset[str] = frozenset()
    ) -> str:
        """Why such a request is refused now; empty if it fits, outside of what is kept."""
        limit = self.limits[tenant]
        held = sum(lease.gpus for lease in self.leases.values() if self._counts(lease, tenant))
        if limit is not None and held + gpus > limit:
            return "quota_exceeded"
        open_to_it = (node for node in self.nodes if node.id not in kept)
        return "" if any(node.fits(shape, gpus) for node in open_to_it) else "sku_unavailable"

    def _counts(self, lease: Lease, tenant: str) -> bool:
        return lease.live and lease.tenant == tenant

    def free(self, slot: Slot) -> None:
        slot.holder = ""
        self.blocked.discard(slot.id)

    def ask_cleanup(self, lease: Lease) -> None:
        lease.released = True
        lease.revision += 1
        self.blocked -= {slot.id for slot in lease.held}

    @property
    def holds(self) -> Holds:
        holders = {slot.id: slot.holder for node in self.nodes for slot in node.slots}
        made: Holds = {}
        for slot, lease in self.history:
            made.setdefault(slot, []).append((lease, holders[slot] == lease))
        return made


def holds(claims: Sequence[Claim]) -> Holds:
    """Of claims in the order of their fences."""
    made: Holds = {}
    for claim in claims:
        made.setdefault(claim.slot, []).append((claim.lease, claim.live))
    return made
