"""A tenant's network: what it has of the pools, at a site or everywhere. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from penstock.central.pools import model as pools
from penstock.central.pools.model import Kind, Prefix
from penstock_contracts.ids import AssignmentId, PoolId, SiteId, TenantId

VLANS_MAX: Final = 256
PREFIXES_MAX: Final = 64


@dataclass(frozen=True)
class Assignment:
    """`site_id` is None where it holds everywhere."""

    id: AssignmentId
    tenant_id: TenantId
    pool_id: PoolId
    kind: Kind
    site_id: SiteId | None
    value: int | Prefix
    assigned_at: datetime
    returned_at: datetime | None = None

    @property
    def shown(self) -> str:
        return pools.show(self.kind, self.value)


@dataclass(frozen=True)
class Network:
    """How much of each kind: what is wanted, or what there is. Prefixes by their lengths."""

    site_id: SiteId | None = None
    vrfs: int = 0
    vlans: int = 0
    vnis: int = 0
    pkeys: int = 0
    ipv4: tuple[int, ...] = ()
    ipv6: tuple[int, ...] = ()

    @property
    def numbers(self) -> dict[Kind, int]:
        return {
            Kind.VRF: self.vrfs,
            Kind.VLAN: self.vlans,
            Kind.VNI: self.vnis,
            Kind.PKEY: self.pkeys,
        }

    @property
    def prefixes(self) -> dict[Kind, tuple[int, ...]]:
        return {Kind.IPV4: self.ipv4, Kind.IPV6: self.ipv6}


@dataclass(frozen=True)
class Need:
    """What must be taken from the pools: `length` is a prefix's, None for numbers."""

    kind: Kind
    count: int
    length: int | None = None


def held(site_id: SiteId | None, assignments: Sequence[Assignment]) -> Network:
    """What these assignments come to in a scope."""
    mine = [a for a in assignments if a.site_id == site_id and a.returned_at is None]
    count = Counter(a.kind for a in mine)
    lengths = [(a.kind, a.value.prefixlen) for a in mine if not isinstance(a.value, int)]
    return Network(
        site_id,
        vrfs=count[Kind.VRF],
        vlans=count[Kind.VLAN],
        vnis=count[Kind.VNI],
        pkeys=count[Kind.PKEY],
        ipv4=tuple(sorted(length for kind, length in lengths if kind is Kind.IPV4)),
        ipv6=tuple(sorted(length for kind, length in lengths if kind is Kind.IPV6)),
    )


def missing(wanted: Network, there: Network) -> list[Need]:
    """What must be added so that there is what is wanted. The largest prefixes come first, so
    that the small ones fill the gaps."""
    needs = [
        Need(kind, count - there.numbers[kind])
        for kind, count in wanted.numbers.items()
        if count > there.numbers[kind]
    ]
    for kind, lengths in wanted.prefixes.items():
        more = Counter(lengths) - Counter(there.prefixes[kind])
        needs += [Need(kind, more[length], length) for length in sorted(more)]
    return needs


def surplus(wanted: Network, there: Network) -> str:
    """What there is and is not wanted any more, in words; empty if nothing."""
    over = [
        f"{there.numbers[kind]} {kind}{'' if there.numbers[kind] == 1 else 's'} (asked for {count})"
        for kind, count in wanted.numbers.items()
        if count < there.numbers[kind]
    ]
    for kind, lengths in wanted.prefixes.items():
        less = Counter(there.prefixes[kind]) - Counter(lengths)
        over += [f"{less[n]} {kind} /{n} that is not asked for" for n in sorted(less)]
    return ", ".join(over)
