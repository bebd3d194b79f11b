"""Roles bound at any level, those they are bound to, and why something is permitted."""

from dataclasses import dataclass

from penstock_client import requests
from penstock_client.requests import Transport
from penstock_client.resources import pages, single
from penstock_client.views.access import (
    Binding,
    BoundRole,
    Conditions,
    Explanation,
    Group,
    GroupMembers,
    ServiceAccount,
    ServiceAccountKey,
)
from penstock_client.views.pages import Page


@dataclass(frozen=True)
class Roles:
    """Name one of tenant, organization, project and site; none means your own tenant."""

    transport: Transport

    def list(self, *, subject: str | None = None, scope: str | None = None) -> Page[Binding]:
        request = requests.get("role-bindings", subject=subject, scope=scope)
        return pages.collect(self.transport, request, Binding)

    def bind(
        self,
        subject: str,
        role: BoundRole,
        *,
        tenant: str | None = None,
        organization: str | None = None,
        project: str | None = None,
        site: str | None = None,
        conditions: Conditions | None = None,
    ) -> Binding:
        request = requests.post(
            "role-bindings", subject=subject, role=role, tenant=tenant, organization=organization,
            project=project, site=site, conditions=conditions,
        )  # fmt: skip
        return single.fetch(self.transport, request, Binding)

    def unbind(self, id: str) -> Binding:
        return single.fetch(self.transport, requests.delete("role-bindings", id), Binding)


@dataclass(frozen=True)
class Groups:
    transport: Transport

    def list(self) -> Page[Group]:
        return pages.collect(self.transport, requests.get("groups"), Group)

    def get(self, id: str) -> GroupMembers:
        return single.fetch(self.transport, requests.get("groups", id), GroupMembers)

    def create(self, name: str, *, tenant: str | None = None) -> Group:
        request = requests.post("groups", name=name, tenant=tenant)
        return single.fetch(self.transport, request, Group)

    def delete(self, id: str) -> GroupMembers:
        """The answer is what it was."""
        return single.fetch(self.transport, requests.delete("groups", id), GroupMembers)

    def add(self, id: str, member: str) -> GroupMembers:
        request = requests.post("groups", id, "members", member=member)
        return single.fetch(self.transport, request, GroupMembers)

    def remove(self, id: str, member: str) -> GroupMembers:
        request = requests.delete("groups", id, "members", member)
        return single.fetch(self.transport, request, GroupMembers)


@dataclass(frozen=True)
class ServiceAccounts:
    transport: Transport

    def list(self) -> Page[ServiceAccount]:
        return pages.collect(self.transport, requests.get("service-accounts"), ServiceAccount)

    def create(self, name: str, *, tenant: str | None = None) -> ServiceAccount:
        request = requests.post("service-accounts", name=name, tenant=tenant)
        return single.fetch(self.transport, request, ServiceAccount)

    def create_key(self, id: str, name: str, *, days: int | None = None) -> ServiceAccountKey:
        """The answer holds the token; it is not shown again."""
        request = requests.post("service-accounts", id, "keys", name=name, days=days)
        return single.fetch(self.transport, request, ServiceAccountKey)

    def disable(self, id: str) -> ServiceAccount:
        request = requests.post("service-accounts", id, "disable")
        return single.fetch(self.transport, request, ServiceAccount)

    def enable(self, id: str) -> ServiceAccount:
        request = requests.post("service-accounts", id, "enable")
        return single.fetch(self.transport, request, ServiceAccount)


@dataclass(frozen=True)
class Access:
    transport: Transport

    def explain(
        self, action: str, resource: str | None = None, *, actor: str | None = None
    ) -> Explanation:
        request = requests.get("access", "explain", action=action, resource=resource, actor=actor)
        return single.fetch(self.transport, request, Explanation)
