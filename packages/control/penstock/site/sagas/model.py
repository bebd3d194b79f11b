"""Sagas: steps in order, each with an undo, over a subject of any kind. Pure.

Rules for a step:
1. It may run more than once, so it is idempotent; so is its undo.
2. It returns when it is done. It raises StepFailed if it cannot be done: then the saga unwinds,
   with the undo of that step and of those before it, in reverse.
3. It raises StepTransient if to try again may help; whatever else it raises counts as that. It is
   tried again after a pause, which grows, as often as its `retries` allow; only then has it failed.
4. It may be cut off at any await: when a newer revision or version takes over, when an operator
   cancels, or by a crash. A newer revision copes with whatever an older one left.
5. Its undo copes with a `do` that came half way, and is tried again until it succeeds.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from penstock_contracts.failpoints import Failpoint

S = TypeVar("S")
Effect = Callable[[S], Awaitable[None]]
Failed = Callable[[S, str], Awaitable[None]]

RETRY_AFTER_S_MAX: Final = 3600.0


class StepFailed(Exception):
    """The step cannot be done. The message is for people."""


class StepTransient(Exception):
    """The step was not done, and may be later: not before `retry_after_s`, if that is known."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True)
class Retries:
    """How often a step is tried, and the pauses between: each is twice as long as the last."""

    attempts_max: int | None = 6  # None: for as long as it takes
    first_s: float = 0.5
    last_s: float = 60.0

    def exhausted(self, attempt: int) -> bool:
        return self.attempts_max is not None and attempt >= self.attempts_max

    def pause_s(self, attempt: int, retry_after_s: float | None = None) -> float:
        """After this attempt, the first being 1. Whoever said when to come back is heeded."""
        usual_s = min(self.first_s * 2 ** min(attempt - 1, 30), self.last_s)
        return max(usual_s, min(retry_after_s or 0.0, RETRY_AFTER_S_MAX))


RETRIES: Final = Retries()
FOR_EVER: Final = Retries(None, 0.1, 30.0)


@dataclass(frozen=True)
class Step(Generic[S]):
    """`do` changes the world; `undo` takes that back, however far `do` came."""

    name: str
    do: Effect[S]
    undo: Effect[S] | None = None
    retries: Retries = RETRIES


Steps = tuple[Step[S], ...]


@dataclass(frozen=True)
class Saga(Generic[S]):
    """Steps of the newest version, and of older ones for as long as a workflow may need them."""

    name: str
    steps: Steps[S]
    failed: Failed[S]  # told once the saga is unwound
    version: int = 1
    older: Mapping[int, Steps[S]] = field(default_factory=lambda: MappingProxyType({}))
    points: dict[str, Failpoint] = field(init=False, default_factory=dict[str, Failpoint])

    def __post_init__(self) -> None:
        if any(version >= self.version for version in self.older):
            raise ValueError(f"saga {self.name} has an older version that is not older")
        for step in (step for steps in (self.steps, *self.older.values()) for step in steps):
            for verb in ("do", "undo") if step.undo else ("do",):
                for moment in ("before", "after"):
                    place = f"{step.name}.{verb}.{moment}"
                    self.points[place] = Failpoint(f"site.{self.name}.{place}")

    def steps_of(self, version: int) -> Steps[S] | None:
        """The steps that a workflow of this version has; None if the code has them no more."""
        return self.steps if version == self.version else self.older.get(version)
