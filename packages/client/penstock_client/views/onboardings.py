"""How tenants come to be, and what they are given."""

from typing import TypedDict

from penstock_client.views.placement import Strategy


class Limit(TypedDict):
    """One limit: all `_max` but one are None. `family` is None for GPUs of all families."""

    family: str | None
    gpus_max: int | None
    nodes_max: int | None
    clusters_max: int | None
    volumes_bytes_max: int | None
    vlans_max: int | None
    spend_micros_max: int | None
    currency: str | None


class Template(TypedDict):
    """What a tenant is given unless its file says otherwise. With a site, a source's own."""

    id: str
    name: str
    revision: int
    site: str | None
    sites: list[str] | None
    skus: list[str] | None
    images: list[str] | None
    families: list[str] | None
    residency: list[str]
    strategy: Strategy
    price_micros_max: int | None
    quotas: list[Limit]


class OnboardingStep(TypedDict):
    name: str
    status: str
    detail: str
    changed: bool
    at: str | None


class Onboarding(TypedDict):
    """Its steps are in order; `tenant` is None until the first one is done."""

    id: str
    name: str
    tenant: str | None
    admin: str
    status: str
    reason: str
    steps: list[OnboardingStep]
    created_by: str
    created_at: str
    finished_at: str | None
