"""Sites, nodes and slots."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock_client import requests
from penstock_client.requests import Transport
from penstock_client.resources import pages, single
from penstock_client.views.fleet import JoinToken, Node, NodeChanges, Site, Slot
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

    def list(self, *, site: str | None = None) -> Page[Node]:
        return pages.collect(self.transport, requests.get("nodes", site=site), Node)

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
