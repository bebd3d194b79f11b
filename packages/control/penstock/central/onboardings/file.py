"""The file that a tenant is onboarded with: its form, the same over HTTP and as it is kept."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

from penstock.central.networks import model as networks
from penstock.central.networks.api import Lengths4, Lengths6
from penstock.central.policies.api import Ceiling
from penstock.central.quotas.form import Limits
from penstock.kernel.http.web import Body
from penstock.kernel.names import Email, Images, Name, Names, Reference, References, Tags


class Admin(Body):
    email: Email


class WantedNetwork(Body):
    """What the tenant has at a site, or (no site) everywhere; a VRF comes with it."""

    site: Reference | None = None
    vlans: Annotated[int, Field(ge=1, le=networks.VLANS_MAX)] = 1
    vni: bool = False
    pkey: bool = False
    ipv4: Lengths4 = Field(default_factory=list[int])
    ipv6: Lengths6 = Field(default_factory=list[int])


class Placement(Body):
    """What is left out is as the template says."""

    sites: References | None = None
    skus: Names | None = None
    images: Images | None = None
    families: Names | None = None
    residency: Tags | None = None
    strategy: Literal["pack", "spread"] | None = None
    price_micros_max: Ceiling | None = None


class WantedProject(Body):
    name: Name
    quotas: Limits | None = None


class WantedOrganization(Body):
    name: Name
    quotas: Limits | None = None
    projects: Annotated[list[WantedProject], Field(max_length=256)] = Field(
        default_factory=list[WantedProject]
    )


def _one_of_each_site(wanted: list[WantedNetwork]) -> list[WantedNetwork]:
    if len({network.site for network in wanted}) != len(wanted):
        raise ValueError("each site may be there once")
    return wanted


class TenantFile(Body):
    """What a tenant shall be. What is left out stays as it is."""

    tenant: Name
    admin: Admin
    realm: (
        Annotated[
            Name, Field(description="where its people are: embedded, or a realm driver's name")
        ]
        | None
    ) = None
    template: Reference | None = None
    placement: Placement | None = None
    networks: (
        Annotated[list[WantedNetwork], Field(max_length=64), AfterValidator(_one_of_each_site)]
        | None
    ) = None
    quotas: Limits | None = None
    organizations: Annotated[list[WantedOrganization], Field(max_length=64)] = Field(
        default_factory=list[WantedOrganization]
    )

    @field_validator("organizations")
    @classmethod
    def each_name_once(cls, wanted: list[WantedOrganization]) -> list[WantedOrganization]:
        projects = [project.name for each in wanted for project in each.projects]
        for names in ([each.name for each in wanted], projects):
            if len(set(names)) != len(names):
                raise ValueError("each organization, and each project, may be there once")
        return wanted
