"""A time that a site reported and that cannot be."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from penstock_contracts.ids import (
    AllocationId,
    DisputeId,
    OrganizationId,
    ProjectId,
    SiteId,
    TenantId,
)


class Edge(StrEnum):
    """Which end of the usage it is about."""

    BEGIN = "begin"
    END = "end"


@dataclass(frozen=True)
class Dispute:
    id: DisputeId
    allocation_id: AllocationId
    tenant_id: TenantId
    organization_id: OrganizationId
    project_id: ProjectId
    site_id: SiteId
    edge: Edge
    reported_at: datetime | None  # None: the site said no time at all
    earliest_at: datetime  # it cannot have been before
    latest_at: datetime  # nor after
    counted_at: datetime
    reason: str
    opened_at: datetime
    settled_at: datetime | None = None
    settled_by: str = ""
    settled_reason: str = ""
