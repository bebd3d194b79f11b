"""What a defragmentation plan is made of. A plan is a proposal: nothing here, and nothing that
imports this, acts on it.
"""

from dataclasses import dataclass

from penstock.placement.kinds.cohorts import Traits
from penstock.placement.requests import Request, Shape


@dataclass(frozen=True)
class Lease:
    """A running `gpu_slice`. `request` is what it was placed for, with the policy of its tenant."""

    id: str
    tenant: str
    node_id: str
    slot_ids: tuple[str, ...]
    request: Request

    @property
    def gpus(self) -> int:
        return len(self.slot_ids)


@dataclass(frozen=True)
class Target:
    """What is to be opened: whole nodes with so many GPUs, or room for slices of so many."""

    shape: Shape
    gpus: int


@dataclass(frozen=True)
class Price:
    """What a move costs, in GPU-minutes: all integers, so that plans compare exactly.

    A lease that moves is stopped here and started there, so each of its GPUs is out of use
    for `stopped_minutes`. `bother_minutes` is what its tenant is owed on top for each GPU.
    """

    bother_minutes: int = 60
    stopped_minutes: int = 15

    def cost(self, gpus: int) -> int:
        return gpus * (self.bother_minutes + self.stopped_minutes)

    def disruption(self, gpus: int) -> int:
        return gpus * self.stopped_minutes


@dataclass(frozen=True)
class Move:
    """One lease, whole, to slots that are free when its turn comes. `opens` is the node for
    whose sake it moves."""

    lease: Lease
    to_node_id: str
    to_slot_ids: tuple[str, ...]
    opens: str


@dataclass(frozen=True)
class Gain:
    """How many leases of a size fit, before and after."""

    shape: Shape
    gpus: int
    before: int
    after: int


@dataclass(frozen=True)
class MovePlan:
    """`opened` says how many more of the target fit afterwards, by the traits of their nodes."""

    target: Target
    moves: tuple[Move, ...]
    cost_gpu_minutes: int
    disruption_gpu_minutes: int
    opened: dict[Traits, int]
    gains: tuple[Gain, ...]

    @property
    def opened_total(self) -> int:
        return sum(self.opened.values())
