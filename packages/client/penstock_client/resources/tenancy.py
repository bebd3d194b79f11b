"""Tenants, their keys and their projects."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock_client import requests
from penstock_client.requests import Body, Transport
from penstock_client.resources import pages, single
from penstock_client.views import Key, Page, Placement, Project, Role, Strategy, Tenant


@dataclass(frozen=True)
class Tenants:
    transport: Transport

    def list(self) -> Page[Tenant]:
        return pages.collect(self.transport, requests.get("tenants"), Tenant)

    def get(self, id: str) -> Tenant:
        return single.fetch(self.transport, requests.get("tenants", id), Tenant)

    def create(self, name: str, *, gpu_limit: int | None = None) -> Tenant:
        request = requests.post("tenants", name=name, gpu_limit=gpu_limit)
        return single.fetch(self.transport, request, Tenant)

    def placement(self, id: str) -> Placement:
        """Where the tenant's leases may go."""
        return single.fetch(self.transport, requests.get("tenants", id, "placement"), Placement)

    def set_placement(
        self,
        id: str,
        *,
        sites: Sequence[str] | None = None,
        families: Sequence[str] | None = None,
        residency: Sequence[str] = (),
        strategy: Strategy = "pack",
        price_micros_max: int | None = None,
    ) -> Placement:
        """Replace the policy: what is left out is not restricted."""
        body: Body = {
            "sites": None if sites is None else list(sites),
            "families": None if families is None else list(families),
            "residency": list(residency),
            "strategy": strategy,
            "price_micros_max": price_micros_max,
        }
        request = requests.put(body, "tenants", id, "placement")
        return single.fetch(self.transport, request, Placement)

    def create_key(self, id: str, *, name: str, role: Role) -> Key:
        """The answer holds the token; it is not shown again."""
        request = requests.post("tenants", id, "keys", name=name, role=role)
        return single.fetch(self.transport, request, Key)


@dataclass(frozen=True)
class Projects:
    transport: Transport

    def list(self) -> Page[Project]:
        return pages.collect(self.transport, requests.get("projects"), Project)

    def get(self, id: str) -> Project:
        return single.fetch(self.transport, requests.get("projects", id), Project)

    def create(self, name: str, *, tenant: str | None = None) -> Project:
        request = requests.post("projects", name=name, tenant=tenant)
        return single.fetch(self.transport, request, Project)
