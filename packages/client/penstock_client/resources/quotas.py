"""How much a tenant, an organization or a project may hold at once, or spend in a month."""

from dataclasses import dataclass

from penstock_client import requests
from penstock_client.requests import Transport
from penstock_client.resources import pages, single
from penstock_client.views.pages import Page
from penstock_client.views.quotas import Quota, QuotaKind


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
        gpus_max: int | None = None,
        *,
        nodes_max: int | None = None,
        clusters_max: int | None = None,
        volumes_bytes_max: int | None = None,
        vlans_max: int | None = None,
        spend_micros_max: int | None = None,
        tenant: str | None = None,
        organization: str | None = None,
        project: str | None = None,
        family: str | None = None,
        currency: str | None = None,
    ) -> Quota:
        """Give one `_max`. A family goes with GPUs (none: all together), a currency with spend."""
        scope = {"tenant": tenant, "organization": organization, "project": project}
        limit = {
            "family": family,
            "gpus_max": gpus_max,
            "nodes_max": nodes_max,
            "clusters_max": clusters_max,
            "volumes_bytes_max": volumes_bytes_max,
            "vlans_max": vlans_max,
            "spend_micros_max": spend_micros_max,
            "currency": currency,
        }
        body = {**scope, **limit}
        given = {name: value for name, value in body.items() if value is not None}
        request = requests.put(given, "quotas")
        return single.fetch(self.transport, request, Quota)

    def remove(
        self,
        *,
        tenant: str | None = None,
        organization: str | None = None,
        project: str | None = None,
        kind: QuotaKind | None = None,
        family: str | None = None,
        currency: str | None = None,
    ) -> Quota:
        """Of GPUs, if no kind is named."""
        request = requests.delete(
            "quotas", tenant=tenant, organization=organization, project=project, kind=kind,
            family=family, currency=currency,
        )  # fmt: skip
        return single.fetch(self.transport, request, Quota)
