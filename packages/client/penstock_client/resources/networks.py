"""Pools, and what tenants have of them."""

from dataclasses import dataclass

from penstock_client import requests
from penstock_client.requests import Transport
from penstock_client.resources import pages, single
from penstock_client.views.networks import Pool, PoolKind
from penstock_client.views.pages import Page


@dataclass(frozen=True)
class Pools:
    transport: Transport

    def list(self) -> Page[Pool]:
        return pages.collect(self.transport, requests.get("pools"), Pool)

    def get(self, id: str) -> Pool:
        """By id or by name."""
        return single.fetch(self.transport, requests.get("pools", id), Pool)

    def create(
        self,
        name: str,
        *,
        kind: PoolKind,
        site: str | None = None,
        first: int | None = None,
        last: int | None = None,
        prefix: str | None = None,
    ) -> Pool:
        """Numbers from `first` to `last`, or a prefix; for one site, or (none) for all."""
        request = requests.post(
            "pools", name=name, kind=kind, site=site, first=first, last=last, prefix=prefix
        )
        return single.fetch(self.transport, request, Pool)
