"""The life of an allocation. Pure: no I/O, no clock, no randomness."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from penstock.central.allocations.wait import REASONS, Wait
from penstock.placement.model import Shape
from penstock_contracts.ids import (
    AllocationId,
    NodeId,
    OrganizationId,
    ProjectId,
    SiteId,
    SkuId,
    SlotId,
    TenantId,
)


class Desired(StrEnum):
    ACTIVE = "active"
    RELEASED = "released"


class Observed(StrEnum):
    NOTHING = "nothing"  # no word from the node yet
    ACTIVE = "active"  # the node proved that the tenant has its GPUs
    STOPPING = "stopping"  # the tenant no longer has them; cleanup goes on
    RELEASED = "released"  # the node finished its cleanup
    FAILED = "failed"  # realization failed and was undone


# What may be observed after what. A report that does not follow is late, and is ignored.
OBSERVABLE: Final = {
    Observed.NOTHING: {Observed.ACTIVE, Observed.STOPPING, Observed.RELEASED, Observed.FAILED},
    Observed.ACTIVE: {Observed.STOPPING, Observed.RELEASED, Observed.FAILED},
    Observed.STOPPING: {Observed.RELEASED},
    Observed.FAILED: {Observed.STOPPING, Observed.RELEASED},
    Observed.RELEASED: set[Observed](),
}


class Status(StrEnum):
    """Projected: what people see. Computed from the others, never stored."""

    QUEUED = "queued"  # it waits for room and holds nothing
    PLACED = "placed"  # slots are claimed; the node has not confirmed
    ACTIVE = "active"  # the node proved that the tenant has its GPUs
    RELEASING = "releasing"  # the tenant is done; cleanup is not proven
    CLEANUP_BLOCKED = "cleanup_blocked"  # a proof was refused; an operator must look
    ABANDONED = "abandoned"  # an operator gave up waiting for the proof; it may still come
    RELEASED = "released"  # cleanup is proven; the slots may be reused
    FAILED = "failed"  # it could not be realized
    EXPIRED = "expired"  # no room came while it waited


class NotPlaced(Exception):
    """Someone asked where a lease is that waits: a mistake of ours, not of the caller."""


@dataclass(frozen=True)
class Execution:
    """What the site's workflow is doing."""

    workflow: str = ""
    step: str = ""
    status: str = ""
    detail: str = ""
    at: datetime | None = None

    @property
    def state(self) -> str:
        return f"{self.workflow}.{self.step} {self.status}" if self.step else "idle"


@dataclass(frozen=True)
class Allocation:
    id: AllocationId
    tenant_id: TenantId
    organization_id: OrganizationId
    project_id: ProjectId
    sku_id: SkuId
    sku_name: str
    shape: Shape
    family: str
    gpus: int
    price_micros_per_gpu_hour: int
    currency: str
    site_id: SiteId | None  # None until it is placed
    node_id: NodeId | None
    desired: Desired
    desired_at: datetime
    revision: int
    observed: Observed
    observed_at: datetime | None
    observed_reason: str
    execution: Execution
    created_at: datetime
    created_by: str
    correlation_id: str
    failed_reason: str
    freed_at: datetime | None
    abandoned_at: datetime | None
    slot_ids: tuple[SlotId, ...]
    blocked_reason: str
    placed_at: datetime | None
    wait: Wait
    gang_id: AllocationId | None = None  # of a gang: its lead's, which is the lease's
    nodes: int = 1  # that the lease was asked for with, if this is its lead

    @property
    def status(self) -> Status:
        if self.failed_reason:
            return Status.FAILED
        if self.wait.expired_at is not None:
            return Status.EXPIRED
        if self.freed_at is not None or self.cancelled:
            return Status.RELEASED
        if self.abandoned_at is not None:
            return Status.ABANDONED
        if self.placed_at is None:
            return Status.QUEUED
        if self.desired is Desired.RELEASED:
            return Status.CLEANUP_BLOCKED if self.blocked_reason else Status.RELEASING
        return Status.ACTIVE if self.observed is Observed.ACTIVE else Status.PLACED

    @property
    def cancelled(self) -> bool:
        """Given up while it waited, by its tenant or by time."""
        return self.placed_at is None and self.desired is Desired.RELEASED

    @property
    def where(self) -> tuple[SiteId, NodeId]:
        if self.site_id is None or self.node_id is None:
            raise NotPlaced(f"allocation {self.id} is {self.status}; it is nowhere")
        return self.site_id, self.node_id

    @property
    def reason(self) -> str:
        if self.cancelled or self.status is Status.QUEUED:
            return self._waited()
        reasons = [self.failed_reason]
        if self.blocked_reason:
            reasons.append(f"cleanup is blocked: {self.blocked_reason}")
        return "; ".join(reason for reason in reasons if reason)

    def _waited(self) -> str:
        if self.wait.expired_at is not None:
            by_its_end = self.wait.until_its_end
            return "no room came before its end" if by_its_end else "no room came while it waited"
        if self.cancelled:
            return "cancelled while waiting"
        estimate = self.wait.estimate
        return REASONS[estimate.waits_for] if estimate else "waits for room"
