"""Who waits for room, who holds it, and what is decided of them. Times are arguments."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from typing import Protocol

from penstock.placement.plans import Part, Plan, Refusal
from penstock.placement.requests import Request


@dataclass(frozen=True)
class Waiting:
    """A request in line.

    `stays`: it waits if it cannot be placed now; else it is refused. `kept`: the nodes kept for
    it in an earlier round; it is a head, and keeps its turn. `ends_at`: when its release will
    begin. `ends_by`: when what it holds will be free, if that is certain; a release is not, before
    its cleanup is proven. `apart`: leases with which it may share no node, and they not with
    it; the nodes of those that are placed are in its request.
    """

    id: str
    tenant: str
    priority: int
    queued_at: datetime
    request: Request
    stays: bool = True
    kept: tuple[str, ...] = ()
    ends_at: datetime | None = None
    ends_by: datetime | None = None
    apart: tuple[str, ...] = ()

    @property
    def gpus(self) -> int:
        return self.request.gpus * self.request.nodes

    def lease(self, plan: Plan) -> "Lease":
        """What it holds once it is placed."""
        return Lease(self.id, self.tenant, self.gpus, plan.parts, self.ends_by or self.ends_at)


@dataclass(frozen=True)
class Lease:
    """What is held now, and until when if that is known."""

    id: str
    tenant: str
    gpus: int
    parts: tuple[Part, ...]
    ends_at: datetime | None = None


@dataclass
class Holdings:
    """How many GPUs each tenant holds, and how much weight it has; 1 if nothing is said."""

    gpus: dict[str, int] = field(default_factory=dict[str, int])
    weights: Mapping[str, float] = field(default_factory=dict[str, float])

    def share(self, tenant: str) -> float:
        return self.gpus.get(tenant, 0) / self.weights.get(tenant, 1.0)

    def add(self, tenant: str, gpus: int) -> None:
        self.gpus[tenant] = self.gpus.get(tenant, 0) + gpus

    def copy(self) -> "Holdings":
        return Holdings(dict(self.gpus), self.weights)


class Why(StrEnum):
    """Why a request was not placed."""

    ROOM = "room"  # nothing fits it now
    TURN = "turn"  # what would fit is kept for one before it
    QUOTA = "quota"  # its tenant may not hold so much
    BALANCE = "balance"  # its tenant cannot pay for it
    NEVER = "never"  # the fleet as it is can never take it


class Limits(Protocol):
    """What else a tenant needs before it may hold more."""

    def lacks(self, waiting: Waiting) -> Why | None: ...
    def take(self, waiting: Waiting) -> None: ...


class Unlimited:
    def lacks(self, waiting: Waiting) -> Why | None:
        return None

    def take(self, waiting: Waiting) -> None:
        pass


@dataclass(frozen=True)
class Reservation:
    """Nodes closed to everybody behind the one they are kept for; `at`: free then, if known."""

    nodes: tuple[str, ...]
    at: datetime | None = None


@dataclass(frozen=True)
class Placement:
    """`request` is what was solved: it leaves to others what is kept for them."""

    waiting: Waiting
    request: Request
    plan: Plan


@dataclass(frozen=True)
class Staying:
    waiting: Waiting
    why: Why
    refusal: Refusal | None = None
    kept: Reservation | None = None  # for it: it is a head


@dataclass(frozen=True)
class Round:
    """Both in the order in which they had their turn."""

    placed: tuple[Placement, ...]
    staying: tuple[Staying, ...]


def ends(
    leases: tuple[Lease, ...], now: datetime, instants_max: int
) -> Iterator[tuple[datetime, list[Lease]]]:
    """The known ends in order of time, those of an instant together.

    An end that has passed while its lease goes on is no longer known.
    """
    known = [(lease.ends_at, lease) for lease in leases if lease.ends_at and lease.ends_at > now]
    known.sort(key=lambda end: (end[0], end[1].id))
    for nth, (at, group) in enumerate(groupby(known, key=lambda end: end[0])):
        if nth == instants_max:
            return
        yield at, [lease for _, lease in group]
