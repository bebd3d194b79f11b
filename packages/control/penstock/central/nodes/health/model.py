"""A node's health: checks that do not pass, and where it differs from its leases. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

SENTENCES_MAX: Final = 16  # in an event
DIFFERS: Final = {
    "not_held": "{allocation} is active and has no runtime",
    "not_leased": "{runtime} runs for {allocation}, which nobody leases",
    "other_slots": "{runtime} has other slots than the lease {allocation}",
}


@dataclass(frozen=True)
class Problem:
    """A check of the host that does not pass."""

    check: str
    subject: str  # a device, or an allocation
    detail: str
    since: str

    @property
    def key(self) -> tuple[str, ...]:
        return self.check, self.subject

    def __str__(self) -> str:
        return " ".join(filter(None, (self.check, self.subject, self.detail)))


@dataclass(frozen=True)
class Discrepancy:
    """What the host holds and what it should hold are not the same."""

    kind: str
    allocation: str
    runtime: str
    since: str

    @property
    def key(self) -> tuple[str, ...]:
        return self.kind, self.allocation, self.runtime

    def __str__(self) -> str:
        return DIFFERS[self.kind].format(allocation=self.allocation, runtime=self.runtime)


@dataclass(frozen=True)
class NodeHealth:
    problems: tuple[Problem, ...] = ()
    problems_more: int = 0
    discrepancies: tuple[Discrepancy, ...] = ()
    changed_at: datetime | None = None

    def with_problems(self, now: Iterable[Problem], more: int) -> "NodeHealth":
        """Those that were there before keep their time."""
        since = {one.key: one.since for one in self.problems}
        kept = tuple(replace(one, since=since.get(one.key, one.since)) for one in now)
        return replace(self, problems=kept, problems_more=more)

    def with_discrepancies(self, now: Iterable[Discrepancy]) -> "NodeHealth":
        since = {one.key: one.since for one in self.discrepancies}
        kept = tuple(replace(one, since=since.get(one.key, one.since)) for one in now)
        return replace(self, discrepancies=kept)


def sentences(found: Iterable[Problem | Discrepancy]) -> list[str]:
    """As many as an event carries."""
    return [str(one) for one in found][:SENTENCES_MAX]
