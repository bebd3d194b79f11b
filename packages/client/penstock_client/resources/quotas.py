"""How many GPUs may be held at once, by a tenant, an organization or a project."""

from dataclasses import dataclass

from penstock_client import requests
from penstock_client.requests import Transport
from penstock_client.resources import pages, single
from penstock_client.views import Page, Quota


@dataclass(frozen=True)
class Quotas:
    """Name one of tenant, organization and project; none means your own tenant."""

    transport: Transport

    def list(
        self,
        *,
        tenant: str | None = None,
        organization: str | None = None,
        project: str | None = None,
    ) -> Page[Quota]:
        request = requests.get("quotas", tenant=tenant, organization=organization, project=project)
        return pages.collect(self.transport, request, Quota)

    def set(
        self,
        gpus_max: int,
        *,
        tenant: str | None = None,
        organization: str | None = None,
        project: str | None = None,
        family: str | None = None,
    ) -> Quota:
        """Limit a family, or all together if none is named."""
        scope = {"tenant": tenant, "organization": organization, "project": project}
        body = {**scope, "family": family, "gpus_max": gpus_max}
        given = {name: value for name, value in body.items() if value is not None}
        request = requests.put(given, "quotas")
        return single.fetch(self.transport, request, Quota)

    def remove(
        self,
        *,
        tenant: str | None = None,
        organization: str | None = None,
        project: str | None = None,
        family: str | None = None,
    ) -> Quota:
        request = requests.delete(
            "quotas", tenant=tenant, organization=organization, project=project, family=family
        )
        return single.fetch(self.transport, request, Quota)
