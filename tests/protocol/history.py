"""What clients were told, and what must be true of it. Pure: it trusts nobody's database.

A client holds a slot at least from the moment it is told so until the moment it asks for
its release. An operation whose outcome is still unknown at the end is a failure: whoever
asks again with the same key must be told in the end.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby, pairwise


@dataclass
class Operation:
    """One request for GPUs, however often it was sent."""

    key: str
    gpus: int
    attempts: int = 0
    broken: int = 0  # attempts that may or may not have had an effect
    allocation: str = ""
    refused: str = ""
    slots: tuple[str, ...] = ()
    held_from: float = 0.0
    held_until: float = float("inf")

    @property
    def unknown(self) -> bool:
        return not self.allocation and not self.refused


@dataclass(frozen=True, order=True)
class Claim:
    """As the database has it, and as it was told to the site."""

    slot: str
    fence: int
    allocation: str


@dataclass
class History:
    operations: list[Operation] = field(default_factory=list[Operation])

    def begin(self, key: str, gpus: int) -> Operation:
        operation = Operation(key, gpus)
        self.operations.append(operation)
        return operation

    @property
    def placed(self) -> list[Operation]:
        return [operation for operation in self.operations if operation.allocation]


def check(history: History, claims: Iterable[Claim]) -> list[str]:
    """Everything that is wrong; empty if nothing is."""
    known = sorted(claims)
    return [
        *_unknown(history),
        *_overlaps(history),
        *_fences(known),
        *_ghosts(history, known),
        *_order(history, known),
    ]


def _unknown(history: History) -> list[str]:
    return [f"{o.key}: its outcome is unknown" for o in history.operations if o.unknown]


def _overlaps(history: History) -> list[str]:
    holds = sorted((slot, o.held_from, o.held_until, o.allocation)
                   for o in history.placed for slot in o.slots)  # fmt: skip
    problems: list[str] = []
    for slot, group in groupby(holds, key=lambda hold: hold[0]):
        until, holder = 0.0, ""
        for _, start, end, allocation in group:
            if start < until and allocation != holder:
                problems.append(f"{slot}: {holder} and {allocation} held it at the same time")
            if end > until:
                until, holder = end, allocation
    return problems


def _fences(claims: list[Claim]) -> list[str]:
    """A lease has one fence, and no other lease has it."""
    fences: dict[str, set[int]] = {}
    leases: dict[int, set[str]] = {}
    for claim in claims:
        fences.setdefault(claim.allocation, set()).add(claim.fence)
        leases.setdefault(claim.fence, set()).add(claim.allocation)
    return [
        *(f"{lease} has the fences {sorted(its)}" for lease, its in fences.items() if len(its) > 1),
        *(f"fence {fence} is of {sorted(its)}" for fence, its in leases.items() if len(its) > 1),
    ]


def _ghosts(history: History, claims: list[Claim]) -> list[str]:
    """Leases that nobody was told of, and leases that someone was told of and are not."""
    told = {(slot, o.allocation) for o in history.placed for slot in o.slots}
    true = {(claim.slot, claim.allocation) for claim in claims}
    twice = len(history.placed) - len({o.allocation for o in history.placed})
    return [
        *(f"{allocation} claimed {slot}; no client knows" for slot, allocation in true - told),
        *(f"{allocation} was to have {slot}; it has not" for slot, allocation in told - true),
        *([f"{twice} requests were answered with another's lease"] if twice else []),
    ]


def _order(history: History, claims: list[Claim]) -> list[str]:
    """A higher fence is a later hold."""
    holds = {o.allocation: o for o in history.placed}
    problems: list[str] = []
    for earlier, later in pairwise(claims):
        before, after = holds.get(earlier.allocation), holds.get(later.allocation)
        if earlier.slot != later.slot or before is None or after is None:
            continue
        if after.held_from < before.held_from:
            problems.append(f"{earlier.slot}: fence {later.fence} was held before {earlier.fence}")
    return problems
