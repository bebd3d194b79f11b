"""What is typically asked for. Declared by the operator or learned from what has come."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.placement.nodes import WHOLE_MILLI
from penstock.placement.requests import Share

CPU_MILLI_PER_GPU: Final = 12_000  # if nothing is known of the workload
MEMORY_MIB_PER_GPU: Final = 49_152

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Amounts(NamedTuple):
    """What a request for a share takes."""

    gpus: int
    milli: int
    cpu_milli: int
    memory_mib: int


@dataclass(frozen=True)
class View:
    """The typical requests that one family may serve; `weight` is of all, so sums to ≤ 1."""

    gpus: Ints
    milli: Ints
    cpu_milli: Ints
    memory_mib: Ints
    weight: Floats
    cpu_per_milli: float  # CPU that the workload wants for each thousandth of a GPU
    memory_per_milli: float

    @cached_property
    def divides(self) -> NDArray[np.bool_]:
        return (self.gpus == 1) & (self.milli < WHOLE_MILLI)

    @cached_property
    def sizes(self) -> Ints:
        """The different `milli`, ascending; `size` says which is whose."""
        return np.unique(self.milli)

    @cached_property
    def size(self) -> NDArray[np.intp]:
        return np.searchsorted(self.sizes, self.milli)


class Workload:
    """Typical requests with how often each comes."""

    def __init__(self, typical: Iterable[tuple[Share, float]]) -> None:
        merged: dict[tuple[tuple[str, ...], Amounts], float] = {}
        for share, count in typical:
            key = (tuple(sorted(set(share.families))), amounts(share))
            merged[key] = merged.get(key, 0.0) + count
        self._typical = sorted(merged.items())
        self._milli = sum(_milli(what) * n for (_, what), n in self._typical)
        self._demand = self._by_families()

    def view(self, family: str) -> View:
        """What of the workload needs GPUs, as a node of the family sees it."""
        with_gpus = [(key, n) for key, n in self._typical if key[1].gpus]
        total = sum(n for _, n in with_gpus)
        weights: dict[Amounts, float] = {}
        for (families, what), count in with_gpus:
            if not families or family in families:
                weights[what] = weights.get(what, 0.0) + count / total
        columns = np.array(list(weights), np.int64).reshape(-1, 4).T
        cpu = sum(what.cpu_milli * n for (_, what), n in self._typical)
        memory = sum(what.memory_mib * n for (_, what), n in self._typical)
        known = self._milli > 0
        return View(
            *columns,
            weight=np.array(list(weights.values())),
            cpu_per_milli=(cpu / self._milli if known else CPU_MILLI_PER_GPU / 1000) or 1.0,
            memory_per_milli=(memory / self._milli if known else MEMORY_MIB_PER_GPU / 1000) or 1.0,
        )

    def scarcity(self, free: Mapping[str, int], total: int) -> dict[str, float]:
        """By family: how much of the demand leans on each free part of it.

        Requests that may go anywhere lean a little on every family, those that are bound to
        one lean on that one alone; so the family that others cannot do without costs more.
        """
        leaning = dict.fromkeys(free, 0.0)
        for families, share in self._demand:
            able = [name for name in (families or free) if name in free]
            room = sum(free[name] for name in able)
            if room > 0:
                for name in able:
                    leaning[name] += share * total / room
        return leaning

    def _by_families(self) -> list[tuple[tuple[str, ...], float]]:
        demand: dict[tuple[str, ...], float] = {}
        for (families, what), count in self._typical:
            if what.gpus:
                demand[families] = demand.get(families, 0.0) + _milli(what) * count / self._milli
        return sorted(demand.items())


def amounts(share: Share) -> Amounts:
    return Amounts(share.gpus, share.milli, share.cpu_milli, share.memory_mib)


def _milli(what: Amounts) -> int:
    return what.gpus * what.milli
