"""The people of a tenant, where they are signed in, and their own keys."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock_client import requests
from penstock_client.requests import Transport
from penstock_client.resources import pages, single
from penstock_client.views.pages import Page
from penstock_client.views.people import (
    ClientScope,
    Invitation,
    NewRealmClient,
    PersonalKey,
    Provider,
    Realm,
    RealmClient,
    Role,
    Rotation,
    Scope,
    SignedIn,
    StoredKey,
    User,
)


@dataclass(frozen=True)
class Users:
    transport: Transport

    def list(self) -> Page[User]:
        return pages.collect(self.transport, requests.get("users"), User)

    def get(self, id: str) -> User:
        return single.fetch(self.transport, requests.get("users", id), User)

    def invite(self, email: str, *, role: Role, tenant: str | None = None) -> Invitation:
        """The answer holds the address to send them; it is not shown again."""
        request = requests.post("users", "invite", email=email, role=role, tenant=tenant)
        return single.fetch(self.transport, request, Invitation)

    def change_role(self, id: str, role: Role) -> User:
        """In the tenant as a whole; `none` leaves what is bound to them."""
        return single.fetch(self.transport, requests.patch({"role": role}, "users", id), User)

    def disable(self, id: str) -> User:
        return single.fetch(self.transport, requests.post("users", id, "disable"), User)

    def enable(self, id: str) -> User:
        return single.fetch(self.transport, requests.post("users", id, "enable"), User)

    def reset(self, id: str, *, second_factor: bool = False) -> Invitation:
        """A way back in; the answer holds the address to send them, and is not shown again."""
        request = requests.post("users", id, "reset", second_factor=second_factor)
        return single.fetch(self.transport, request, Invitation)


@dataclass(frozen=True)
class Realms:
    transport: Transport

    def suspend(self, tenant: str, *, reason: str) -> Realm:
        """Nobody comes in, and no token or personal key of it is believed. The tenant's own keys
        work as before."""
        request = requests.post("realm", "suspend", tenant=tenant, reason=reason)
        return single.fetch(self.transport, request, Realm)

    def resume(self, tenant: str, *, reason: str) -> Realm:
        request = requests.post("realm", "resume", tenant=tenant, reason=reason)
        return single.fetch(self.transport, request, Realm)

    def rotate(self, *, tenant: str | None = None, distrust: bool = False) -> Rotation:
        """Sign with the next key. `distrust` ends what the old one signed."""
        request = requests.post("realm", "rotate", tenant=tenant, distrust=distrust)
        return single.fetch(self.transport, request, Rotation)


@dataclass(frozen=True)
class Clients:
    transport: Transport

    def list(self) -> Page[RealmClient]:
        return pages.collect(self.transport, requests.get("clients"), RealmClient)

    def get(self, id: str) -> RealmClient:
        return single.fetch(self.transport, requests.get("clients", id), RealmClient)

    def create(
        self,
        name: str,
        *,
        redirect_uris: Sequence[str] = (),
        grants: Sequence[str] | None = None,
        scopes: Sequence[ClientScope] | None = None,
        role: Role | None = None,
        public: bool = False,
        tenant: str | None = None,
    ) -> NewRealmClient:
        """The answer holds the secret; it is not shown again."""
        request = requests.post(
            "clients", name=name, redirect_uris=list(redirect_uris), grants=grants, scopes=scopes,
            role=role, public=public, tenant=tenant,
        )  # fmt: skip
        return single.fetch(self.transport, request, NewRealmClient)

    def disable(self, id: str) -> RealmClient:
        return single.fetch(self.transport, requests.post("clients", id, "disable"), RealmClient)


@dataclass(frozen=True)
class Providers:
    transport: Transport

    def list(self) -> Page[Provider]:
        return pages.collect(self.transport, requests.get("providers"), Provider)

    def create(
        self, name: str, *, issuer: str, client_id: str, client_secret: str, tenant: str | None
    ) -> Provider:
        request = requests.post(
            "providers", name=name, issuer=issuer, client_id=client_id,
            client_secret=client_secret, tenant=tenant,
        )  # fmt: skip
        return single.fetch(self.transport, request, Provider)

    def disable(self, id: str) -> Provider:
        return single.fetch(self.transport, requests.post("providers", id, "disable"), Provider)


@dataclass(frozen=True)
class Sessions:
    transport: Transport

    def list(self) -> Page[SignedIn]:
        return pages.collect(self.transport, requests.get("sessions"), SignedIn)

    def revoke(self, id: str) -> SignedIn:
        return single.fetch(self.transport, requests.post("sessions", id, "revoke"), SignedIn)


@dataclass(frozen=True)
class Keys:
    transport: Transport

    def list(self) -> Page[StoredKey]:
        return pages.collect(self.transport, requests.get("keys"), StoredKey)

    def create(self, name: str, *, scopes: Sequence[Scope], days: int) -> PersonalKey:
        """The answer holds the token; it is not shown again."""
        request = requests.post("keys", name=name, scopes=scopes, days=days)
        return single.fetch(self.transport, request, PersonalKey)

    def revoke(self, id: str) -> StoredKey:
        return single.fetch(self.transport, requests.post("keys", id, "revoke"), StoredKey)
