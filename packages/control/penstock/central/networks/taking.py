"""Taking from pools: the lowest that is free, or a refusal that says what is left. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.central.networks import picking
from penstock.central.networks.model import Need
from penstock.central.pools.model import Kind, Numbers, Pool, Prefix
from penstock.kernel.errors import Conflict
from penstock_contracts.ids import PoolId


@dataclass(frozen=True)
class Taken:
    pool: Pool
    value: int | Prefix


class Stock:
    """Pools of one scope with what is held of them; what is taken is held at once."""

    def __init__(self, pools: Sequence[Pool], held: Sequence[tuple[PoolId, int | Prefix]]) -> None:
        self._pools = pools
        self._held: dict[PoolId, list[int | Prefix]] = {pool.id: [] for pool in pools}
        for pool, value in held:
            self._held[pool].append(value)

    def take(self, need: Need) -> list[Taken]:
        """All of it, or a refusal: nothing is taken in part."""
        pools = [pool for pool in self._pools if pool.kind is need.kind]
        if not pools:
            raise Conflict(
                f"there is no {need.kind} pool to take from here",
                code="no_pool",
                suggestion="`penstock pool create` makes one, for a site or (without one) for all",
            )
        taken: list[Taken] = []
        for pool in pools:
            values = self._free(pool, need, need.count - len(taken))
            taken += [Taken(pool, value) for value in values]
            self._held[pool.id] += values
        if len(taken) < need.count:
            raise self._exhausted(need, pools, len(taken))
        return taken

    def _free(self, pool: Pool, need: Need, count: int) -> list[int | Prefix]:
        if isinstance(pool.extent, Numbers):
            return [*picking.first_free(pool.extent, self.numbers(pool), count)]
        found: list[Prefix] = []
        for _ in range(count):
            held = [*self.prefixes(pool), *found]
            prefix = picking.first_free_prefix(pool.extent, held, need.length or 0)
            if prefix is None:
                break
            found.append(prefix)
        return [*found]

    def numbers(self, pool: Pool) -> list[int]:
        return [value for value in self._held[pool.id] if isinstance(value, int)]

    def prefixes(self, pool: Pool) -> list[Prefix]:
        return [value for value in self._held[pool.id] if not isinstance(value, int)]

    def left(self, pool: Pool) -> str:
        """`12 free`, `/25 and smaller free`, `nothing free`."""
        if isinstance(pool.extent, Numbers):
            free = pool.extent.size - len(self.numbers(pool))
            return f"{free} free" if free else "nothing free"
        largest = picking.largest_free(pool.extent, self.prefixes(pool))
        return "nothing free" if largest is None else f"/{largest} and smaller free"

    def _exhausted(self, need: Need, pools: Sequence[Pool], found: int) -> Conflict:
        what = f"{need.kind} /{need.length}" if need.length is not None else words(need.kind)
        where = ", ".join(f"{pool.name} ({pool.bounds})" for pool in pools)
        return Conflict(
            f"{where} has {found} left, not the {need.count} wanted ({what})",
            code="pool_exhausted",
            suggestion="`penstock pool create` adds to it; offboarded tenants give theirs back",
            extras={
                "kind": need.kind,
                "wanted": need.count,
                "left": found,
                "pools": [pool.name for pool in pools],
            },
        )


def words(kind: Kind) -> str:
    return {
        Kind.VRF: "VRF",
        Kind.VLAN: "VLAN",
        Kind.VNI: "VNI",
        Kind.PKEY: "InfiniBand partition key",
    }.get(kind, str(kind))
