"""People, where they sign in, and their keys."""

from typing import Literal, TypedDict

Role = Literal["admin", "member", "viewer", "finance", "none"]  # in a tenant as a whole
Scope = Literal["read", "use", "administer"]
ClientScope = Literal[
    "openid", "profile", "email", "offline_access", "read", "use", "administer", "keys"
]


class User(TypedDict):
    id: str
    tenant: str
    email: str
    name: str
    role: Role
    second_factor: bool
    status: str
    created_at: str


class Realm(TypedDict):
    tenant: str
    suspended: bool


class Rotation(TypedDict):
    issuer: str
    kid: str  # of the key that signs from now on


class RealmClient(TypedDict):
    """A program that may ask a realm for tokens."""

    id: str
    tenant: str
    name: str
    public: bool
    redirect_uris: list[str]
    grants: list[str]
    scopes: list[str]
    role: str | None
    created_at: str
    disabled_at: str | None


class NewRealmClient(RealmClient):
    secret: str | None  # shown once; a public client has none


class Provider(TypedDict):
    """Another issuer through which a tenant's people may sign in."""

    id: str
    tenant: str
    name: str
    issuer: str
    client_id: str
    created_at: str
    disabled_at: str | None


class Invitation(TypedDict):
    id: str
    tenant: str
    email: str
    role: Role
    url: str  # shown once; whoever opens it becomes the user
    expires_at: str


class SignedIn(TypedDict):
    """A session: a browser, or a client that someone let in."""

    id: str
    tenant: str
    user: str
    kind: str
    client: str | None
    scope: str
    factors: list[str]
    agent: str
    created_at: str
    seen_at: str
    expires_at: str


class StoredKey(TypedDict):
    """A key as it is listed: without its token."""

    id: str
    tenant: str | None
    user: str | None
    service_account: str | None
    client: str | None  # through which its owner made it
    name: str
    role: str
    scopes: list[str] | None
    created_at: str
    expires_at: str | None
    revoked_at: str | None


class PersonalKey(TypedDict):
    id: str
    name: str
    role: str
    scopes: list[str]
    expires_at: str
    token: str  # shown once; the API keeps only its hash
