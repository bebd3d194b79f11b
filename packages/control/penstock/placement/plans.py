"""What placement answers: a plan, or a refusal that says why."""

from dataclasses import dataclass
from typing import NamedTuple

from penstock.placement.nodes import WHOLE_MILLI
from penstock.placement.requests import Request


class Part(NamedTuple):
    """What a plan takes of one node: these slots, or `milli` of each if they are shared."""

    node_id: str
    slot_ids: tuple[str, ...]
    milli: int = WHOLE_MILLI
    cpu_milli: int = 0
    memory_mib: int = 0


class Candidate(NamedTuple):
    """A node that fits, standing for all that are in the same state."""

    node_id: str
    score: tuple[int, ...]  # lower is better
    alike: int = 1


class Plan(NamedTuple):
    site_id: str
    parts: tuple[Part, ...]
    candidates: tuple[Candidate, ...]
    rejections: dict[str, int]  # rule → nodes it removed

    @property
    def node_id(self) -> str:
        return self.parts[0].node_id

    @property
    def node_ids(self) -> tuple[str, ...]:
        return tuple(part.node_id for part in self.parts)

    @property
    def slot_ids(self) -> tuple[str, ...]:
        if len(self.parts) == 1:
            return self.parts[0].slot_ids
        return tuple(slot for part in self.parts for slot in part.slot_ids)


@dataclass(frozen=True)
class NearMiss:
    """A node that one rule alone keeps from fitting, or on which `missing` GPUs are not free."""

    node_id: str
    site_id: str
    rule: str
    why: str
    missing: int = 0


@dataclass(frozen=True)
class Change:
    """A change of the request that fits now, and where it would go, if that may be told.

    `sku` is what to ask for, if it is another one.
    """

    kind: str
    what: str
    request: Request
    site_id: str | None
    node_id: str | None
    sku: str = ""


@dataclass(frozen=True)
class Refusal:
    """No node fits. `rejections` says how many nodes each rule removed, in order.

    `never`: waiting will not help, and `why` says what is impossible.
    """

    rejections: dict[str, int]
    considered: int
    never: bool = False
    why: str = ""


@dataclass(frozen=True)
class Explanation:
    """What else can be said about a refusal: found by running the solver, not guessed."""

    near: tuple[NearMiss, ...]
    changes: tuple[Change, ...]
