"""What is for sale."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock_client import requests
from penstock_client.requests import Transport
from penstock_client.resources import pages, single
from penstock_client.views.catalog import Shape, Sku
from penstock_client.views.pages import Page


@dataclass(frozen=True)
class Skus:
    transport: Transport

    def list(self) -> Page[Sku]:
        return pages.collect(self.transport, requests.get("skus"), Sku)

    def get(self, id: str) -> Sku:
        """By id or by name."""
        return single.fetch(self.transport, requests.get("skus", id), Sku)

    def create(
        self,
        name: str,
        *,
        shape: Shape,
        family: str,
        gpu_counts: Sequence[int],
        price_micros_per_gpu_hour: int,
        currency: str = "USD",
    ) -> Sku:
        request = requests.post(
            "skus",
            name=name,
            shape=shape,
            family=family,
            gpu_counts=[*gpu_counts],
            price_micros_per_gpu_hour=price_micros_per_gpu_hour,
            currency=currency,
        )
        return single.fetch(self.transport, request, Sku)
