"""Allocations, the usage that they leave, and disputes about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock_client import requests
from penstock_client.requests import Transport
from penstock_client.resources import pages, single
from penstock_client.views.allocations import Allocation, Dispute, Replay, Usage
from penstock_client.views.events import Event
from penstock_client.views.pages import Page
from penstock_client.views.placement import Strategy


@dataclass(frozen=True)
class Allocations:
    transport: Transport

    def list(
        self,
        *,
        project: str | None = None,
        status: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Page[Allocation]:
        request = requests.get("allocations", project=project, status=status, cursor=cursor)
        return pages.collect(self.transport, request, Allocation, limit=limit)

    def get(self, id: str) -> Allocation:
        return single.fetch(self.transport, requests.get("allocations", id), Allocation)

    def create(
        self,
        *,
        project: str,
        sku: str,
        gpus: int | None = None,
        nodes: int | None = None,
        site: str | None = None,
        strategy: Strategy | None = None,
        residency: Sequence[str] = (),
        price_micros_max: int | None = None,
        apart_from: Sequence[str] = (),
        queue: bool = False,
        queue_for_s: int | None = None,
        priority: int | None = None,
        ends_at: str | None = None,
    ) -> Allocation:
        """Claim the GPUs. They are placed on return, and active when their node proves it.

        With `nodes` they are those of so many whole nodes, all or none: a gang, one lease.
        `residency` and `price_micros_max` are on top of the tenant's policy; `apart_from` are
        allocations with which this one must not share a node. With `queue` they may be `queued`
        instead: placed as soon as there is room, in order of priority and fair share. At
        `ends_at` they are released, if they are not before, or wait no longer.
        """
        request = requests.post(
            "allocations", project=project, sku=sku, gpus=gpus, nodes=nodes, site=site,
            strategy=strategy, residency=[*residency] or None, price_micros_max=price_micros_max,
            apart_from=[*apart_from] or None, queue=queue or None, queue_for_s=queue_for_s,
            priority=priority, ends_at=ends_at,
        )  # fmt: skip
        return single.fetch(self.transport, request, Allocation)

    def release(self, id: str) -> Allocation:
        """Give the GPUs back, or cancel the wait. Slots are free once their cleanup is proven.
        By the id of any of its members, a gang is given back whole."""
        return single.fetch(self.transport, requests.post("allocations", id, "release"), Allocation)

    def abandon(self, id: str, *, reason: str) -> Allocation:
        """Give up a release that cannot end: the quota is returned, the slots stay blocked."""
        request = requests.post("allocations", id, "abandon", reason=reason)
        return single.fetch(self.transport, request, Allocation)

    def timeline(self, id: str) -> Page[Event]:
        return pages.collect(self.transport, requests.get("allocations", id, "timeline"), Event)

    def receipt(self, id: str) -> Mapping[str, object]:
        """Why it was placed where it is: candidates, scores, rejections."""
        request = requests.get("allocations", id, "receipt")
        return single.fetch(self.transport, request, dict[str, object])

    def replay(self, id: str) -> Replay:
        """Decide its placement again, on the fleet as it was, and compare."""
        request = requests.get("allocations", id, "receipt", "replay")
        return single.fetch(self.transport, request, Replay)


@dataclass(frozen=True)
class Usages:
    transport: Transport

    def list(self, *, project: str | None = None, allocation: str | None = None) -> Page[Usage]:
        request = requests.get("usage", project=project, allocation=allocation)
        return pages.collect(self.transport, request, Usage)


@dataclass(frozen=True)
class Disputes:
    transport: Transport

    def list(self, *, settled: bool | None = None) -> Page[Dispute]:
        request = requests.get("disputes", settled=settled)
        return pages.collect(self.transport, request, Dispute)

    def get(self, id: str) -> Dispute:
        return single.fetch(self.transport, requests.get("disputes", id), Dispute)

    def settle(self, id: str, *, reason: str, at: str | None = None) -> Dispute:
        """Decide which time counts: this one, or the one that counts already."""
        request = requests.post("disputes", id, "settle", at=at, reason=reason)
        return single.fetch(self.transport, request, Dispute)
