"""Tenants and their parts, keys and money."""

from typing import TypedDict

from penstock_client.views.people import Role


class Tenant(TypedDict):
    id: str
    name: str
    status: str
    status_reason: str
    status_at: str
    created_at: str


class Key(TypedDict):
    id: str
    name: str
    role: Role
    token: str  # shown once; the API keeps only its hash


class Organization(TypedDict):
    id: str
    tenant: str
    name: str
    created_at: str


class Project(TypedDict):
    id: str
    tenant: str
    organization: str
    name: str
    created_at: str


class Balance(TypedDict):
    """All None for a tenant that pays afterwards."""

    tenant: str
    prepaid: bool
    currency: str | None
    balance_micros: int | None
    accrued_micros: int | None
    available_micros: int | None
    burn_micros_per_hour: int | None


class Credit(TypedDict):
    id: str
    tenant: str
    amount_micros: int
    currency: str
    reason: str
    created_at: str
