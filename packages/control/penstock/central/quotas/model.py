"""A quota: how many GPUs a tenant, an organization or a project may hold at once."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from penstock_contracts.ids import OrganizationId, TenantId

TOTAL: Final = ""  # the family of a limit on all families together


class Level(StrEnum):
    TENANT = "tenant"
    ORGANIZATION = "organization"
    PROJECT = "project"


@dataclass(frozen=True)
class Scope:
    """Whose GPUs are counted. `organization_id` is that of an organization or a project."""

    level: Level
    id: str
    tenant_id: TenantId
    organization_id: OrganizationId | None = None

    def within(self, other: "Scope") -> bool:
        """Whether everything held in this scope is also held in the other, larger one."""
        if self.tenant_id != other.tenant_id:
            return False
        if other.level is Level.TENANT:
            return self.level is not Level.TENANT
        return (
            other.level is Level.ORGANIZATION
            and self.level is Level.PROJECT
            and self.organization_id == other.organization_id
        )

    def __str__(self) -> str:
        return f"{self.level} {self.id}"


@dataclass(frozen=True)
class Limit:
    scope: Scope
    gpus_max: int


@dataclass(frozen=True)
class Line:
    """What a scope holds of a family (or in total), and may hold; None: no limit of its own."""

    level: Level
    scope_id: str
    family: str
    gpus_max: int | None
    gpus_used: int


def kind(family: str, gpus: int) -> str:
    """`1 GPU`, `8 h100 GPUs`."""
    words = [str(gpus), family, "GPU" if gpus == 1 else "GPUs"]
    return " ".join(word for word in words if word)
