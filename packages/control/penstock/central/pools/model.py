"""A pool: numbers or prefixes that tenants' networks are made of. Pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from penstock_contracts.ids import PoolId, SiteId

Prefix = IPv4Network | IPv6Network


class Kind(StrEnum):
    VRF = "vrf"
    VLAN = "vlan"
    VNI = "vni"
    PKEY = "pkey"  # an InfiniBand partition key, without its membership bit
    IPV4 = "ipv4"
    IPV6 = "ipv6"


# What the protocols allow. 0x7fff is every InfiniBand host's default partition, so it
# separates nobody.
BOUNDS: Final = {
    Kind.VRF: (1, 4_294_967_295),
    Kind.VLAN: (1, 4_094),
    Kind.VNI: (1, 16_777_215),
    Kind.PKEY: (0x0001, 0x7FFE),
}
BITS: Final = {Kind.IPV4: 32, Kind.IPV6: 128}


@dataclass(frozen=True)
class Numbers:
    """Both ends belong to it."""

    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True)
class Pool:
    """`site_id` is None for a global one."""

    id: PoolId
    name: str
    kind: Kind
    site_id: SiteId | None
    extent: Numbers | Prefix
    created_at: datetime
    created_by: str

    @property
    def bounds(self) -> str:
        return show_extent(self.kind, self.extent)


def show(kind: Kind, value: int | Prefix) -> str:
    """As the field writes it: `100`, `0x0010`, `10.0.0.0/24`."""
    return f"0x{value:04x}" if kind is Kind.PKEY else str(value)


def show_extent(kind: Kind, extent: Numbers | Prefix) -> str:
    if not isinstance(extent, Numbers):
        return str(extent)
    return f"{show(kind, extent.first)}-{show(kind, extent.last)}"


def fault(kind: Kind, extent: Numbers | Prefix) -> str:
    """Why a pool of this kind cannot have this extent; empty if it can."""
    if not isinstance(extent, Numbers):
        if kind not in BITS or BITS[kind] != extent.max_prefixlen:
            return f"a {kind} pool cannot be made of {extent}"
        return ""
    if kind not in BOUNDS:
        return f"an {kind} pool is a prefix, not numbers"
    low, high = BOUNDS[kind]
    if extent.first > extent.last:
        return f"{show(kind, extent.first)} is above {show(kind, extent.last)}"
    if extent.first < low or extent.last > high:
        return f"{kind} numbers go from {show(kind, low)} to {show(kind, high)}"
    return ""
