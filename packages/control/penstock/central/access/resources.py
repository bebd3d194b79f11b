"""What is acted on, and where it is."""

from dataclasses import dataclass

from penstock.central.access.roles import PLATFORM, Level
from penstock.kernel.actor import Grant
from penstock_contracts.ids import TenantId


@dataclass(frozen=True)
class Resource:
    """What is acted on. No id: the collection. No tenant and no site: the platform's own.

    The rest are attributes that policies may ask for: the GPU family, facts about where it will
    be (`residency`), the role that is granted.
    """

    noun: str
    id: str | None = None
    tenant_id: TenantId | None = None
    organization_id: str | None = None
    project_id: str | None = None
    site_id: str | None = None
    family: str | None = None
    residency: frozenset[str] | None = None
    role: str | None = None
    status: str = ""  # of its tenant, where that matters

    @property
    def path(self) -> tuple[str, ...]:
        """The places it is in, the innermost first."""
        inner = (self.project_id, self.organization_id, self.tenant_id, self.site_id)
        return (*(place for place in inner if place is not None), PLATFORM)

    @property
    def levels(self) -> dict[Level, str]:
        """The places it is in, by their level."""
        places = {
            Level.PROJECT: self.project_id,
            Level.ORGANIZATION: self.organization_id,
            Level.TENANT: self.tenant_id,
            Level.SITE: self.site_id,
            Level.PLATFORM: PLATFORM,
        }
        return {level: place for level, place in places.items() if place is not None}


def at(noun: str, grant: Grant, tenant_id: TenantId | None) -> Resource:
    """Anything of that kind in the place of a grant."""
    return Resource(
        noun,
        tenant_id=tenant_id,
        organization_id=grant.place if grant.level == Level.ORGANIZATION else None,
        project_id=grant.place if grant.level == Level.PROJECT else None,
        site_id=grant.place if grant.level == Level.SITE else None,
    )
