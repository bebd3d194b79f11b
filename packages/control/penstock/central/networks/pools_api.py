"""Pools over HTTP: each with what networks left of it, so it is here and not beside `pools`."""

from datetime import datetime
from ipaddress import ip_network
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field

from penstock.central.networks import service as networks
from penstock.central.networks.taking import Stock
from penstock.central.pools import service
from penstock.central.pools.model import Kind, Numbers, Pool, Prefix
from penstock.kernel import shapes
from penstock.kernel.errors import Invalid
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View
from penstock.kernel.names import Name, Reference

router = APIRouter(prefix="/v1/pools", tags=["networks"], route_class=TxRoute)

Number = Annotated[int, Field(ge=0, le=2**32)]


class NewPool(Body):
    """Numbers from `first` to `last`, or (for addresses) a `prefix`. No site: global."""

    name: Name
    kind: Literal["vrf", "vlan", "vni", "pkey", "ipv4", "ipv6"]
    site: Reference | None = None
    first: Number | None = None
    last: Number | None = None
    prefix: Annotated[str, Field(max_length=43, pattern=shapes.PREFIX)] | None = None

    def extent(self) -> Numbers | Prefix:
        numbers = self.first is not None and self.last is not None
        if self.prefix is not None and self.first is None and self.last is None:
            return _prefix(self.prefix)
        if self.prefix is None and numbers:
            return Numbers(self.first or 0, self.last or 0)
        raise Invalid("a pool has a `first` and a `last` number, or a `prefix`")


class PoolView(View):
    """`left` says in words what can still be taken; `free` is null for prefixes."""

    id: str
    name: str
    kind: str
    site: str | None
    bounds: str
    assigned: int
    free: int | None
    left: str
    created_at: datetime

    @classmethod
    def of(cls, pool: Pool, stock: Stock) -> "PoolView":
        numbers = isinstance(pool.extent, Numbers)
        assigned = len(stock.numbers(pool) if numbers else stock.prefixes(pool))
        return cls(
            id=pool.id,
            name=pool.name,
            kind=pool.kind,
            site=pool.site_id,
            bounds=pool.bounds,
            assigned=assigned,
            free=pool.extent.size - assigned if isinstance(pool.extent, Numbers) else None,
            left=stock.left(pool),
            created_at=pool.created_at,
        )


def _prefix(text: str) -> Prefix:
    try:
        return ip_network(text)
    except ValueError:
        raise Invalid(
            f"prefix: {text!r} is no prefix in its canonical form",
            code="pool_out_of_bounds",
            suggestion="write the first address of the block and its length: 10.20.0.0/16",
        ) from None


@router.get("")
async def list_pools(actor: Caller, tx: Tx, paging: PageQuery) -> Page[PoolView]:
    """What tenants' networks are made of, and how much of it is left."""
    rows = await service.page(tx, actor, paging.after, paging.fetch)
    stock = await networks.stock(tx, rows)
    return paging.page(rows, lambda pool: PoolView.of(pool, stock), lambda pool: pool.id)


@router.post("", status_code=201)
async def create_pool(body: NewPool, actor: Caller, tx: Tx) -> PoolView:
    """Add numbers or addresses to hand out. They must be in no other pool that reaches as far."""
    pool = await service.create(
        tx, actor, name=body.name, kind=Kind(body.kind), site=body.site, extent=body.extent()
    )
    return PoolView.of(pool, await networks.stock(tx, [pool]))


@router.get("/{id}")
async def get_pool(id: str, actor: Caller, tx: Tx) -> PoolView:
    """One pool, by id or by name."""
    pool = await service.get(tx, actor, id)
    return PoolView.of(pool, await networks.stock(tx, [pool]))
