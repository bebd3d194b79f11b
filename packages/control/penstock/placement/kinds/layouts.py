"""How the GPUs of a host lie. Nodes that are built the same share one layout.

Sets of GPUs are bit masks: bit n is the n-th GPU.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from penstock.placement.nodes import Slot

MEMO_MAX: Final = 4096


class Pool(NamedTuple):
    """Free GPUs of one NUMA node, and how many fabric devices are theirs alone."""

    free: int
    devices: int


class Layout:
    def __init__(self, numa: tuple[int, ...], fabric: tuple[int, ...]) -> None:
        self.gpus = len(numa)
        self._numa = [_mask(numa, node) for node in sorted(set(numa))]
        self._devices = [_mask(fabric, n) for n in sorted(set(fabric)) if n >= 0]
        self._chosen: dict[tuple[int, int], int] = {}

    def pools(self, free: int) -> tuple[Pool, ...]:
        """The NUMA nodes that have free GPUs, largest first."""
        found = [self._pool(numa, free) for numa in self._numa if numa & free]
        return tuple(sorted(found, reverse=True))

    def _pool(self, numa: int, free: int) -> Pool:
        own = [d for d in self._devices if d & numa and d & free == d]
        return Pool((numa & free).bit_count(), len(own))

    def choose(self, free: int, gpus: int) -> int:
        """The GPUs on the fewest NUMA nodes, the tightest of them, each with its own device."""
        key = (free, gpus)
        found = self._chosen.get(key)
        if found is None:
            if len(self._chosen) >= MEMO_MAX:
                self._chosen.clear()
            # Returned as it was found: another thread may clear the memo meanwhile.
            found = self._chosen[key] = self._choose(free, gpus)
        return found

    @property
    def on_fabric(self) -> bool:
        """Every GPU has a fabric device."""
        every = (1 << self.gpus) - 1
        served = 0
        for device in self._devices:
            served |= device
        return served == every

    def _choose(self, free: int, gpus: int) -> int:
        numas = [numa for numa in self._numa if numa & free]
        sizes = dict(zip(numas, (self._pool(numa, free) for numa in numas), strict=True))
        chosen = 0
        for pool in used(tuple(sorted(sizes.values(), reverse=True)), gpus):
            numa = next(numa for numa, size in sizes.items() if size == pool)
            del sizes[numa]
            chosen |= self._pick(numa & free, free, gpus - chosen.bit_count())
        return chosen

    def _pick(self, pool: int, free: int, gpus: int) -> int:
        """From one NUMA node: first one GPU of each device that nobody else uses."""
        picked = 0
        for device in self._devices:
            if device & free == device and device & pool and picked.bit_count() < gpus:
                picked |= _lowest(device & pool)
        while picked.bit_count() < gpus and pool & ~picked:
            picked |= _lowest(pool & ~picked)
        return picked


def used(pools: tuple[Pool, ...], gpus: int) -> list[Pool]:
    """The fewest pools that hold so many GPUs: the largest, and last the tightest that does."""
    rest, found = list(pools), list[Pool]()
    while gpus > rest[0].free:
        gpus -= rest[0].free
        found.append(rest.pop(0))
    enough = (pool for pool in rest if pool.free >= gpus)
    return [*found, min(enough, key=lambda pool: (pool.free, -pool.devices))]


def of(slots: tuple[Slot, ...]) -> Layout:
    """Names of devices differ from node to node; only which GPUs share one matters."""
    ordinals = {name: n for n, name in enumerate(dict.fromkeys(slot.fabric for slot in slots))}
    fabric = tuple(ordinals[slot.fabric] if slot.fabric else -1 for slot in slots)
    return _layout(tuple(slot.numa_node for slot in slots), fabric)


@lru_cache(maxsize=1024)
def _layout(numa: tuple[int, ...], fabric: tuple[int, ...]) -> Layout:
    return Layout(numa, fabric)


def bits(mask: int) -> list[int]:
    found: list[int] = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def _mask(places: tuple[int, ...], place: int) -> int:
    return sum(1 << n for n, other in enumerate(places) if other == place)


def _lowest(mask: int) -> int:
    return mask & -mask
