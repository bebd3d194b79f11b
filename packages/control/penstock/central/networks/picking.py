"""What is free in a pool, and which of it is taken next: always the lowest. Pure."""

from collections.abc import Collection, Iterable, Sequence
from ipaddress import ip_network

from penstock.central.pools.model import Numbers, Prefix


def first_free(extent: Numbers, held: Collection[int], count: int) -> list[int]:
    """The lowest numbers that nobody holds; fewer than `count` if there are no more."""
    taken = set(held)
    free: list[int] = []
    candidate = extent.first
    while len(free) < count and candidate <= extent.last:
        if candidate not in taken:
            free.append(candidate)
        candidate += 1
    return free


def first_free_prefix(extent: Prefix, held: Iterable[Prefix], length: int) -> Prefix | None:
    """The lowest block of that length which overlaps nothing that is held."""
    bits = extent.max_prefixlen
    if not extent.prefixlen <= length <= bits:
        return None
    size = 1 << (bits - length)
    start = int(extent.network_address)
    for taken in sorted(held, key=_first):
        if start + size <= _first(taken):
            break
        if _last(taken) >= start:
            start = -(-(_last(taken) + 1) // size) * size  # the next multiple of its size
    if start + size - 1 > _last(extent):
        return None
    return ip_network((start, length)) if bits == 32 else _six(start, length)


def largest_free(extent: Prefix, held: Sequence[Prefix]) -> int | None:
    """The length of the largest free block (a small number is a large block); None if full."""
    lengths = range(extent.prefixlen, extent.max_prefixlen + 1)
    return next((n for n in lengths if first_free_prefix(extent, held, n) is not None), None)


def _six(start: int, length: int) -> Prefix:
    """Small integers would be taken for IPv4 addresses."""
    return ip_network((start.to_bytes(16), length))


def _first(prefix: Prefix) -> int:
    return int(prefix.network_address)


def _last(prefix: Prefix) -> int:
    return int(prefix.broadcast_address)
