"""Ensures that a fresh platform has something to lease: a tenant, a project, SKUs, a site."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from penstock.local.profile import Profile
from penstock_client.api import Client
from penstock_client.views.catalog import Shape
from penstock_client.views.fleet import Site
from penstock_client.views.tenancy import Project, Tenant

TENANT: Final = "demo"
PROJECT: Final = "default"
SITE: Final = "local"


@dataclass(frozen=True)
class Platform:
    tenant: str
    project: str
    site: str


def ensure(client: Client, profile: Profile) -> Platform:
    """Make what is not there yet, by name; what is there stays as it is."""
    tenant = _tenant(client)
    project = _project(client, tenant["id"])
    site = _site(client)
    _skus(client, profile)
    return Platform(tenant["id"], project["id"], site["id"])


def _tenant(client: Client) -> Tenant:
    for tenant in client.tenants.list()["items"]:
        if tenant["name"] == TENANT:
            return tenant
    return client.tenants.create(TENANT)


def _project(client: Client, tenant: str) -> Project:
    for project in client.projects.list()["items"]:
        if project["tenant"] == tenant and project["name"] == PROJECT:
            return project
    return client.projects.create(PROJECT, tenant=tenant)


def _site(client: Client) -> Site:
    for site in client.sites.list()["items"]:
        if site["name"] == SITE:
            return site
    return client.sites.create(SITE, auto_approve=True)


def _skus(client: Client, profile: Profile) -> None:
    present = {sku["name"] for sku in client.skus.list()["items"]}
    offers: Iterable[tuple[str, Shape, list[int]]] = (
        (profile.slice_sku, "gpu_slice", profile.slice_counts),
        (profile.metal_sku, "baremetal", [profile.gpus]),
    )
    for name, shape, gpu_counts in offers:
        if name not in present:
            client.skus.create(
                name,
                shape=shape,
                family=profile.family,
                gpu_counts=gpu_counts,
                price_micros_per_gpu_hour=profile.price_micros_per_gpu_hour,
            )
