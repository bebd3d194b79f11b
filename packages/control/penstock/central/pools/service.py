"""What may be done to a pool. The caller owns the transaction."""

from collections.abc import Sequence

from penstock.central.access.authorization import Resource, authorize
from penstock.central.pools import model, store
from penstock.central.pools.model import Kind, Numbers, Pool, Prefix
from penstock.central.sites import service as sites
from penstock.kernel import audit, events
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid, NotFound
from penstock_contracts.ids import PoolId, SiteId


async def create(
    tx: Tx, actor: Actor, *, name: str, kind: Kind, site: str | None, extent: Numbers | Prefix
) -> Pool:
    """Give the platform more to hand out: at one site, or everywhere."""
    authorize(actor, "pool.create", Resource("pool"))
    if wrong := model.fault(kind, extent):
        raise Invalid(wrong, code="pool_out_of_bounds")
    site_id = await site_of(tx, site)
    pool = Pool(PoolId.new(), name, kind, site_id, extent, tx.now, actor.name)
    await store.add(tx, pool)
    bounds = pool.bounds
    audit.record(
        tx, actor, "pool.create", pool.id, name=name, kind=kind, site=site_id, bounds=bounds
    )
    events.emit(tx, "pool.created", pool.id, name=name, kind=kind, site=site_id, bounds=bounds)
    return pool


async def get(tx: Tx, actor: Actor, reference: str) -> Pool:
    """By id or by name."""
    authorize(actor, "pool.view", Resource("pool", reference))
    return await store.get(tx, reference)


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[Pool]:
    authorize(actor, "pool.view", Resource("pool"))
    return await store.page(tx, after, limit)


async def within(tx: Tx, site_id: SiteId | None, kinds: Sequence[Kind]) -> list[Pool]:
    """The pools of a site, or the global ones, in the order in which they are used."""
    return await store.within(tx, site_id, kinds)


async def site_of(tx: Tx, reference: str | None) -> SiteId | None:
    """The site that is named, by id or by name. None stays None: everywhere."""
    if reference is None:
        return None
    try:
        return (await sites.get(tx, SYSTEM, reference)).id
    except NotFound as missing:
        raise Invalid(f"site: {missing.detail}", code="unknown_site") from None
