"""The SDK: one client, its calls grouped by noun.

    with Client("https://penstock.example", token) as client:
        lease = client.allocations.create(project=project, sku="h100-8.slice", gpus=2)
        for event in client.events.watch(subject=lease["id"], after="0"):
            ...

Every call raises `errors.Refused` when the API says no, and `errors.Unreachable` when
it does not answer. A POST carries an idempotency key and is sent again when the
connection fails, so it happens once. `Client(…, reason="ticket 42")` says why, in the
audit log, with every change.
"""

from collections.abc import Callable
from typing import Self

from penstock_client import requests
from penstock_client.requests import Because, Transport
from penstock_client.resources import pages, single
from penstock_client.resources.access import Access, Groups, Roles, ServiceAccounts
from penstock_client.resources.allocations import Allocations, Disputes, Usages
from penstock_client.resources.audit import Audit
from penstock_client.resources.catalog import Skus
from penstock_client.resources.events import Events
from penstock_client.resources.fleet import Nodes, Reenrolments, Sites, Slots
from penstock_client.resources.networks import Pools
from penstock_client.resources.onboardings import Onboardings, Templates
from penstock_client.resources.people import Clients, Keys, Providers, Realms, Sessions, Users
from penstock_client.resources.quotas import Quotas
from penstock_client.resources.room import Availabilities, Defragmentation
from penstock_client.resources.tenancy import Organizations, Projects, Tenants
from penstock_client.views.access import Me
from penstock_client.views.invariants import Invariant
from penstock_client.views.loops import Loop
from penstock_client.views.pages import Page


class Client:
    """`reason` says why, in the audit log, with everything that is changed through it."""

    def __init__(
        self,
        api: str,
        token: str | Callable[[], str],
        *,
        transport: Transport | None = None,
        reason: str | None = None,
    ) -> None:
        carrying = transport or connect(api, token)
        self.transport = carrying if reason is None else Because(carrying, reason)
        self.tenants = Tenants(self.transport)
        self.onboardings = Onboardings(self.transport)
        self.templates = Templates(self.transport)
        self.pools = Pools(self.transport)
        self.organizations = Organizations(self.transport)
        self.projects = Projects(self.transport)
        self.quotas = Quotas(self.transport)
        self.skus = Skus(self.transport)
        self.sites = Sites(self.transport)
        self.nodes = Nodes(self.transport)
        self.reenrolments = Reenrolments(self.transport)
        self.slots = Slots(self.transport)
        self.allocations = Allocations(self.transport)
        self.availability = Availabilities(self.transport)
        self.defragmentation = Defragmentation(self.transport)
        self.usage = Usages(self.transport)
        self.disputes = Disputes(self.transport)
        self.events = Events(self.transport)
        self.users = Users(self.transport)
        self.realms = Realms(self.transport)
        self.clients = Clients(self.transport)
        self.providers = Providers(self.transport)
        self.sessions = Sessions(self.transport)
        self.keys = Keys(self.transport)
        self.audit = Audit(self.transport)
        self.roles = Roles(self.transport)
        self.groups = Groups(self.transport)
        self.service_accounts = ServiceAccounts(self.transport)
        self.access = Access(self.transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.transport.close()

    def me(self) -> Me:
        return single.fetch(self.transport, requests.get("me"), Me)

    def invariants(self) -> Page[Invariant]:
        return pages.collect(self.transport, requests.get("invariants"), Invariant)

    def loops(self) -> Page[Loop]:
        """Those of the replica that answers."""
        return pages.collect(self.transport, requests.get("loops"), Loop)


def connect(api: str, token: str | Callable[[], str]) -> Transport:
    # Imported late: `--curl`, `--help` and usage errors need no HTTP library.
    from penstock_client.http import Http

    return Http(api, token)
