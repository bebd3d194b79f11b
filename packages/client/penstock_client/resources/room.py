"""What fits now, and the moves that would make more fit."""

from dataclasses import dataclass

from penstock_client import requests
from penstock_client.requests import Transport
from penstock_client.resources import pages, single
from penstock_client.views.pages import Page
from penstock_client.views.room import Availability, DefragmentationPlan


@dataclass(frozen=True)
class Availabilities:
    transport: Transport

    def list(self, *, sku: str | None = None, site: str | None = None) -> Page[Availability]:
        """By SKU and site, each by id or by name."""
        request = requests.get("availability", sku=sku, site=site)
        return pages.collect(self.transport, request, Availability)


@dataclass(frozen=True)
class Defragmentation:
    transport: Transport

    def plan(self, *, family: str, site: str, gpus: int | None = None) -> DefragmentationPlan:
        """Moves that would open slices of so many GPUs, or whole nodes. Nothing is moved."""
        request = requests.get("defragmentation", family=family, site=site, gpus=gpus)
        return single.fetch(self.transport, request, DefragmentationPlan)
