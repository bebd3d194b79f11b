"""Pools, and what tenants have of them."""

from typing import Literal, TypedDict

PoolKind = Literal["vrf", "vlan", "vni", "pkey", "ipv4", "ipv6"]


class Pool(TypedDict):
    """`left` says what can still be taken; `free` is None for prefixes."""

    id: str
    name: str
    kind: PoolKind
    site: str | None
    bounds: str
    assigned: int
    free: int | None
    left: str
    created_at: str


class Assignment(TypedDict):
    """Something of a pool that a tenant has; `site` is None where it holds everywhere."""

    id: str
    kind: PoolKind
    value: str
    site: str | None
    assigned_at: str
