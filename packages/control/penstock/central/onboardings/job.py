"""What a step is given to work with."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from penstock.central.onboardings.file import TenantFile
from penstock.central.onboardings.model import Did, Onboarding, Pending
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock_contracts.failpoints import Failpoint
from penstock_contracts.ids import TenantId


@dataclass(frozen=True)
class Job:
    """Who asked for it is named in the audit log; what is done is done by the system."""

    file: TenantFile
    actor: Actor
    founded: bool
    reason: str
    tenant: TenantId | None
    resumed: bool = False  # the step was taken before, and waited for an answer

    @classmethod
    def of(cls, onboarding: Onboarding) -> "Job":
        kind, _, id = onboarding.created_by.partition(":")
        return cls(
            file=TenantFile.model_validate(onboarding.file),
            actor=Actor(kind, id, "system"),
            founded=onboarding.founded,
            reason=onboarding.reason,
            tenant=onboarding.tenant_id,
            resumed=onboarding.next is not None and onboarding.next.pended,
        )

    @property
    def tenant_id(self) -> TenantId:
        """Every step but the first has one."""
        if self.tenant is None:
            raise LookupError("the first step has not made the tenant yet")
        return self.tenant


Before = Mapping[str, object]


@dataclass(frozen=True)
class Stage:
    """`do` may come again after a crash, and finds then what is there. What a tenant that was
    there before was given stays when the rest is undone; what was changed is put back."""

    name: str
    do: Callable[[Tx, Job], Awaitable[Did | Pending]]
    undo: Callable[[Tx, Job, Before], Awaitable[str | Pending]]
    points: dict[str, Failpoint] = field(init=False, default_factory=dict[str, Failpoint])

    def __post_init__(self) -> None:
        for verb in ("do", "undo"):
            if (self.name, verb) == ("ready", "undo"):
                continue  # the last step is never taken back
            for moment in ("before", "after"):
                name = f"central.onboarding.{self.name}.{verb}.{moment}"
                self.points[f"{verb}.{moment}"] = Failpoint(name)
