"""The life of an onboarding: seven steps forward, or back again. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from penstock_contracts.ids import OnboardingId, TenantId

STEPS: Final = ("domain", "realm", "admin", "network", "quotas", "projects", "ready")
REASON_MAX: Final = 500


class Status(StrEnum):
    RUNNING = "running"
    UNDOING = "undoing"  # a step failed; those before it are taken back
    DONE = "done"
    UNDONE = "undone"  # as if it had not been asked for


class StepStatus(StrEnum):
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    UNDONE = "undone"


@dataclass(frozen=True)
class Did:
    """What a step came to. `before` is what its undo needs; `tenant_id` is the first step's."""

    detail: str
    changed: bool = True
    before: Mapping[str, object] = field(default_factory=dict[str, object])
    tenant_id: TenantId | None = None
    founded: bool = False


@dataclass(frozen=True)
class Pending:
    """Another must answer first. What the step did stays; it is taken again once that one has."""

    detail: str


@dataclass(frozen=True)
class Step:
    name: str
    status: StepStatus = StepStatus.WAITING
    detail: str = ""
    changed: bool = False
    at: datetime | None = None
    before: Mapping[str, object] = field(default_factory=dict[str, object])
    pended: bool = False  # it did something already, and another had to answer

    @property
    def to_undo(self) -> bool:
        return self.status is StepStatus.DONE or (self.status is StepStatus.FAILED and self.pended)


@dataclass(frozen=True)
class Onboarding:
    """`founded` says that it made the tenant itself, and so may unmake it."""

    id: OnboardingId
    name: str
    file: Mapping[str, object]
    created_by: str
    correlation_id: str
    created_at: datetime
    tenant_id: TenantId | None = None
    status: Status = Status.RUNNING
    founded: bool = False
    steps: tuple[Step, ...] = tuple(Step(name) for name in STEPS)
    reason: str = ""
    failures: int = 0
    retry_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def next(self) -> Step | None:
        """The step to take, or (undoing) to take back."""
        if self.status is Status.RUNNING:
            return next((s for s in self.steps if s.status is StepStatus.WAITING), None)
        if self.status is Status.UNDOING:
            return next((s for s in reversed(self.steps) if s.to_undo), None)
        return None

    def did(self, step: Step, did: Did, at: datetime) -> "Onboarding":
        done = replace(
            step,
            status=StepStatus.DONE,
            detail=did.detail,
            changed=did.changed,
            before=did.before,
            at=at,
        )
        moved = self._with(done)
        moved = replace(moved, failures=0, retry_at=None)
        if did.tenant_id is not None:
            moved = replace(moved, tenant_id=did.tenant_id, founded=did.founded)
        return _settled(moved, Status.DONE, at)

    def failed(self, step: Step, reason: str, at: datetime) -> "Onboarding":
        """From here on it goes back."""
        shown = reason[:REASON_MAX]
        moved = self._with(replace(step, status=StepStatus.FAILED, detail=shown, at=at))
        moved = replace(moved, status=Status.UNDOING, reason=f"{step.name}: {shown}", retry_at=None)
        return _settled(moved, Status.UNDONE, at)

    def took_back(self, step: Step, detail: str, at: datetime) -> "Onboarding":
        undone = replace(step, status=StepStatus.UNDONE, detail=detail, at=at)
        if step.status is StepStatus.FAILED:
            undone = replace(step, pended=False)  # what it had begun is gone; why it failed stays
        moved = self._with(undone)
        return _settled(replace(moved, failures=0, retry_at=None), Status.UNDONE, at)

    def waits(self, step: Step, pending: Pending, until: datetime) -> "Onboarding":
        """For another's answer, which is told; `until` is for the case that it was not."""
        begun = replace(step, pended=True)
        if step.status is not StepStatus.FAILED:
            begun = replace(begun, detail=pending.detail[:REASON_MAX])
        return replace(self._with(begun), retry_at=until)

    def stuck(self, retry_at: datetime) -> "Onboarding":
        """A step could not be taken back; it is tried again."""
        return replace(self, failures=self.failures + 1, retry_at=retry_at)

    def _with(self, changed: Step) -> "Onboarding":
        steps = tuple(changed if step.name == changed.name else step for step in self.steps)
        return replace(self, steps=steps)


def _settled(moved: Onboarding, end: Status, at: datetime) -> Onboarding:
    """It ends when there is nothing left to take, or to take back."""
    return moved if moved.next else replace(moved, status=end, finished_at=at)
