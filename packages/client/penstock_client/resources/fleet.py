"""Sites, nodes and slots."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock_client import requests
from penstock_client.requests import Transport
from penstock_client.resources import pages, single
from penstock_client.views.fleet import (
    JoinToken,
    Node,
    NodeChanges,
    Reenrolment,
    Site,
    Slot,
)
from penstock_client.views.pages import Page


@dataclass(frozen=True)
class Sites:
    transport: Transport

    def list(self) -> Page[Site]:
        return pages.collect(self.transport, requests.get("sites"), Site)

    def get(self, id: str) -> Site:
        return single.fetch(self.transport, requests.get("sites", id), Site)

    def create(self, name: str, *, auto_approve: bool = False, tags: Sequence[str] = ()) -> Site:
        given = list(tags) or None
        request = requests.post("sites", name=name, auto_approve=auto_approve, tags=given)
        return single.fetch(self.transport, request, Site)

    def tag(self, id: str, tags: Sequence[str]) -> Site:
        """Replace the site's tags, which are its nodes', too."""
        return single.fetch(self.transport, requests.patch({"tags": list(tags)}, "sites", id), Site)

    def create_token(self, id: str) -> JoinToken:
        """A single-use token with which the site's control plane enrols."""
        return single.fetch(self.transport, requests.post("sites", id, "token"), JoinToken)

    def create_node_tokens(self, id: str, *, count: int = 1) -> Page[JoinToken]:
        """Single-use tokens with which nodes enrol at the site."""
        request = requests.post("sites", id, "node-tokens", count=count)
        return pages.fetch(self.transport, request, JoinToken, None)


@dataclass(frozen=True)
class Nodes:
    transport: Transport

    def list(self, *, site: str | None = None, retired: bool | None = None) -> Page[Node]:
        """Those that are retired, too, only if asked for."""
        request = requests.get("nodes", site=site, retired=retired)
        return pages.collect(self.transport, request, Node)

    def get(self, id: str) -> Node:
        return single.fetch(self.transport, requests.get("nodes", id), Node)

    def slots(self, id: str) -> Page[Slot]:
        return pages.collect(self.transport, requests.get("nodes", id, "slots"), Slot)

    def change(self, id: str, changes: NodeChanges) -> Node:
        """Tags, for whom it is reserved, its price, its fabric leaf: what is named, only."""
        return single.fetch(self.transport, requests.patch({**changes}, "nodes", id), Node)

    def drain(self, id: str, *, reason: str | None = None) -> Node:
        """Nothing new is placed on it; what runs there goes on."""
        return single.fetch(
            self.transport, requests.post("nodes", id, "drain", reason=reason), Node
        )

    def undrain(self, id: str) -> Node:
        return single.fetch(self.transport, requests.post("nodes", id, "undrain"), Node)

    def approve(self, id: str) -> Node:
        """Approve all of the node's proposed slots."""
        return single.fetch(self.transport, requests.post("nodes", id, "approve"), Node)

    def retire(self, id: str, *, reason: str) -> Node:
        """Out of service for good, once its last lease is over. There is no way back."""
        request = requests.post("nodes", id, "retire", reason=reason)
        return single.fetch(self.transport, request, Node)

    def replace(self, id: str) -> JoinToken:
        """A single-use token with which another machine takes a retired node's place."""
        return single.fetch(self.transport, requests.post("nodes", id, "replace"), JoinToken)

    def create_rejoin_token(self, id: str) -> JoinToken:
        """A single-use token with which a node that lost its key asks to come back."""
        return single.fetch(self.transport, requests.post("nodes", id, "rejoin-token"), JoinToken)


@dataclass(frozen=True)
class Reenrolments:
    """Machines that say they are nodes that lost their key."""

    transport: Transport

    def list(self, *, node: str | None = None, status: str | None = None) -> Page[Reenrolment]:
        request = requests.get("reenrolments", node=node, status=status)
        return pages.collect(self.transport, request, Reenrolment)

    def get(self, id: str) -> Reenrolment:
        return single.fetch(self.transport, requests.get("reenrolments", id), Reenrolment)

    def approve(self, id: str, *, reason: str) -> Reenrolment:
        """The node is who holds the new key; the leases that it held end."""
        request = requests.post("reenrolments", id, "approve", reason=reason)
        return single.fetch(self.transport, request, Reenrolment)

    def reject(self, id: str, *, reason: str) -> Reenrolment:
        request = requests.post("reenrolments", id, "reject", reason=reason)
        return single.fetch(self.transport, request, Reenrolment)


@dataclass(frozen=True)
class Slots:
    transport: Transport

    def get(self, id: str) -> Slot:
        return single.fetch(self.transport, requests.get("slots", id), Slot)

    def approve(self, id: str) -> Slot:
        return single.fetch(self.transport, requests.post("slots", id, "approve"), Slot)

    def cleanup(self, id: str) -> Slot:
        """Ask again for the cleanup of a blocked slot."""
        return single.fetch(self.transport, requests.post("slots", id, "cleanup"), Slot)
