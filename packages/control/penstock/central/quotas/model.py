"""A quota: how much a tenant, an organization or a project may hold, or spend in a month."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from penstock_contracts.ids import OrganizationId, TenantId


class Level(StrEnum):
    TENANT = "tenant"
    ORGANIZATION = "organization"
    PROJECT = "project"


class Kind(StrEnum):
    """All that can be limited. A new one is also a field of `form.Limit`, a phrase in `words`,
    and in the schema a branch of `quota_use` that counts it."""

    GPUS = "gpus"  # held, those being cleaned included; of a family or of all
    NODES = "nodes"  # leased whole
    CLUSTERS = "clusters"  # no noun yet, so none are used
    VOLUMES = "volumes"  # bytes of all together; no noun yet, so none are used
    VLANS = "vlans"  # that a tenant has
    SPEND = "spend"  # micro-units of a currency, since the calendar month began (UTC)

    @property
    def field(self) -> str:
        """What its limit is called, over HTTP and in the audit log."""
        units = {Kind.VOLUMES: "_bytes", Kind.SPEND: "_micros"}
        return f"{self}{units.get(self, '')}_max"

    @property
    def levels(self) -> frozenset[Level]:
        """Where it can be limited: networks are the whole tenant's."""
        return frozenset({Level.TENANT} if self is Kind.VLANS else Level)


LEASED: Final = (Kind.GPUS, Kind.NODES, Kind.SPEND)  # what leases count in, as they are named


@dataclass(frozen=True, order=True)
class Measure:
    """What is counted: of GPUs a family ('' for all together), of money a currency."""

    kind: Kind
    family: str = ""
    currency: str = ""

    def __str__(self) -> str:
        """`gpus`, `gpus:h100`, `spend:USD`: as it is kept, for `measure` to read."""
        return ":".join(filter(None, (self.kind, self.family, self.currency)))

    def includes(self, other: "Measure") -> bool:
        """Whether the other is a part of it: GPUs of a family, of those of all."""
        return self.kind is other.kind is Kind.GPUS and not self.family and bool(other.family)


TOTAL: Final = Measure(Kind.GPUS)  # GPUs of all families together
NODES: Final = Measure(Kind.NODES)
VLANS: Final = Measure(Kind.VLANS)


def gpus(family: str) -> Measure:
    return Measure(Kind.GPUS, family)


def spend(currency: str) -> Measure:
    return Measure(Kind.SPEND, currency=currency)


def measure(text: str) -> Measure:
    kind, _, part = text.partition(":")
    if kind == Kind.SPEND:
        return spend(part)
    return Measure(Kind(kind), part)


@dataclass(frozen=True)
class Scope:
    """Whose use is counted. `organization_id` is that of an organization or a project."""

    level: Level
    id: str
    tenant_id: TenantId
    organization_id: OrganizationId | None = None
    asked: str = field(default="", compare=False)  # the name by which it was asked for

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
    measure: Measure
    most: int

    def bounds(self, other: "Limit") -> bool:
        """Whether the other can never be above this one: it is of the same further in, or of a
        part of it here or further in."""
        inner = other.scope.within(self.scope)
        if self.measure == other.measure:
            return inner
        return (inner or other.scope == self.scope) and self.measure.includes(other.measure)


@dataclass(frozen=True)
class Line:
    """What a scope uses of something, and may use; None: no limit of its own.

    `due` is what an hour of all that lives will cost; 0 for what is not money.
    """

    level: Level
    scope_id: str
    measure: Measure
    limit: int | None
    used: int
    due: int = 0

    @property
    def room(self) -> int:
        """Below 0 where more was spent than may be."""
        return (self.limit or 0) - self.used - self.due
