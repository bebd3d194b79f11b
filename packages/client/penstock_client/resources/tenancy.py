"""Tenants, their keys, money, organizations and projects."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock_client import requests
from penstock_client.requests import Body, Transport
from penstock_client.resources import pages, single
from penstock_client.views.events import Event
from penstock_client.views.networks import Assignment
from penstock_client.views.pages import Page
from penstock_client.views.people import Role
from penstock_client.views.placement import Placement, Strategy
from penstock_client.views.tenancy import Balance, Credit, Key, Organization, Project, Tenant


@dataclass(frozen=True)
class Tenants:
    transport: Transport

    def list(self) -> Page[Tenant]:
        return pages.collect(self.transport, requests.get("tenants"), Tenant)

    def get(self, id: str) -> Tenant:
        return single.fetch(self.transport, requests.get("tenants", id), Tenant)

    def create(self, name: str) -> Tenant:
        return single.fetch(self.transport, requests.post("tenants", name=name), Tenant)

    def placement(self, id: str) -> Placement:
        """Where the tenant's leases may go."""
        return single.fetch(self.transport, requests.get("tenants", id, "placement"), Placement)

    def set_placement(
        self,
        id: str,
        *,
        sites: Sequence[str] | None = None,
        families: Sequence[str] | None = None,
        skus: Sequence[str] | None = None,
        images: Sequence[str] | None = None,
        residency: Sequence[str] = (),
        strategy: Strategy = "pack",
        price_micros_max: int | None = None,
        weight: int = 1,
    ) -> Placement:
        """Replace the policy: what is left out is not restricted. Of what those who wait are
        given, a tenant of twice the `weight` gets twice as much."""
        body: Body = {
            "sites": None if sites is None else list(sites),
            "families": None if families is None else list(families),
            "skus": None if skus is None else list(skus),
            "images": None if images is None else list(images),
            "residency": list(residency),
            "strategy": strategy,
            "price_micros_max": price_micros_max,
            "weight": weight,
        }
        request = requests.put(body, "tenants", id, "placement")
        return single.fetch(self.transport, request, Placement)

    def timeline(self, id: str) -> Page[Event]:
        """The last that happened to it, in order."""
        return pages.collect(self.transport, requests.get("tenants", id, "timeline"), Event)

    def suspend(self, id: str, *, reason: str) -> Tenant:
        """No new leases; what runs goes on."""
        request = requests.post("tenants", id, "suspend", reason=reason)
        return single.fetch(self.transport, request, Tenant)

    def resume(self, id: str, *, reason: str) -> Tenant:
        request = requests.post("tenants", id, "resume", reason=reason)
        return single.fetch(self.transport, request, Tenant)

    def offboard(self, id: str, *, reason: str) -> Tenant:
        """Release all it has. It is gone once every cleanup is proven."""
        request = requests.post("tenants", id, "offboard", reason=reason)
        return single.fetch(self.transport, request, Tenant)

    def network(self, id: str) -> Page[Assignment]:
        """What it has of the pools."""
        return pages.collect(self.transport, requests.get("tenants", id, "network"), Assignment)

    def expand_network(
        self,
        id: str,
        *,
        site: str | None = None,
        vlans: int = 0,
        vni: bool = False,
        pkey: bool = False,
        ipv4: Sequence[int] = (),
        ipv6: Sequence[int] = (),
    ) -> Page[Assignment]:
        """Give it more; the answer is what is new. Prefixes are asked for by their lengths."""
        request = requests.post(
            "tenants", id, "network", site=site, vlans=vlans, vni=vni, pkey=pkey,
            ipv4=[*ipv4], ipv6=[*ipv6],
        )  # fmt: skip
        return pages.fetch(self.transport, request, Assignment, None)

    def create_key(self, id: str, *, name: str, role: Role) -> Key:
        """The answer holds the token; it is not shown again."""
        request = requests.post("tenants", id, "keys", name=name, role=role)
        return single.fetch(self.transport, request, Key)

    def balance(self, id: str) -> Balance:
        """What is left of what it paid beforehand."""
        return single.fetch(self.transport, requests.get("tenants", id, "balance"), Balance)

    def credit(self, id: str, *, amount_micros: int, currency: str, reason: str) -> Credit:
        """Add to its balance. The first credit makes it prepaid."""
        request = requests.post(
            "tenants", id, "credits", amount_micros=amount_micros, currency=currency, reason=reason
        )
        return single.fetch(self.transport, request, Credit)


@dataclass(frozen=True)
class Organizations:
    transport: Transport

    def list(self) -> Page[Organization]:
        return pages.collect(self.transport, requests.get("organizations"), Organization)

    def get(self, id: str) -> Organization:
        """By id or by name."""
        return single.fetch(self.transport, requests.get("organizations", id), Organization)

    def create(self, name: str, *, tenant: str | None = None) -> Organization:
        request = requests.post("organizations", name=name, tenant=tenant)
        return single.fetch(self.transport, request, Organization)


@dataclass(frozen=True)
class Projects:
    transport: Transport

    def list(self) -> Page[Project]:
        return pages.collect(self.transport, requests.get("projects"), Project)

    def get(self, id: str) -> Project:
        return single.fetch(self.transport, requests.get("projects", id), Project)

    def create(
        self, name: str, *, tenant: str | None = None, organization: str | None = None
    ) -> Project:
        request = requests.post("projects", name=name, tenant=tenant, organization=organization)
        return single.fetch(self.transport, request, Project)
