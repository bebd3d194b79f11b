"""What could be leased, for those who ask. Counts only: nothing here names a node."""

from dataclasses import dataclass

from penstock.central.access.authorization import Resource, authorize
from penstock.central.availability.model import Counts, Size, Stock, Viewer
from penstock.central.defragmentation.planner import Planner, Wanted
from penstock.central.placement import reach
from penstock.central.placement.reading import FleetReader
from penstock.central.policies import service as policies
from penstock.central.sites import service as sites
from penstock.central.skus import service as catalog
from penstock.central.skus.model import Sku
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid
from penstock.placement.defragmentation.moves import Target
from penstock.placement.model import Shape
from penstock_contracts.ids import SiteId


@dataclass(frozen=True)
class Look:
    """What was seen in one moment. `site_ids` are those that were asked for and may be used."""

    viewer: Viewer
    skus: list[Sku]
    site_ids: list[str]
    names: dict[SiteId, str]
    counts: Counts

    def at(self, sku: Sku) -> list[str]:
        """The sites at which the SKU may be leased."""
        known = self.counts[sku.id, sku.gpu_counts[0]]
        return [site for site in self.site_ids if site in known]


async def look(
    tx: Tx, actor: Actor, reader: FleetReader, *, sku: str | None, site: str | None
) -> Look:
    """How much fits now, of each size of each SKU, at each site within the caller's reach.

    The transaction is the system's: what is free is nobody's own.
    """
    authorize(actor, "availability.view", Resource("availability", tenant_id=actor.tenant_id))
    skus = await _within_reach(tx, actor)
    skus = [each for each in skus if sku in (None, each.id, each.name)]
    if sku is not None and not skus:
        raise Invalid(
            f"sku: there is no SKU {sku!r}",
            code="unknown_sku",
            suggestion="`penstock sku ls` lists what can be leased",
        )
    names = await sites.names(tx)
    tenant = actor.tenant_id
    overlay = None if tenant is None else await reach.of(tx, tenant)
    viewer = Viewer(overlay, await reach.kept(tx))
    fleet = await reader.read(tx)
    counts = {
        (each.id, gpus): viewer.count(each, gpus, fleet)
        for each in skus
        for gpus in each.gpu_counts
    }
    seen = {id for by_site in counts.values() for id in by_site}
    if tenant is None:
        seen.update(names)
    site_ids = sorted(id for id in seen if site in (None, id, names.get(SiteId(id))))
    # A site beyond the tenant's reach is answered like one that does not exist.
    if site is not None and not site_ids:
        raise Invalid(f"site: there is no site {site!r}", code="unknown_site")
    return Look(viewer, skus, site_ids, names, counts)


async def _within_reach(tx: Tx, actor: Actor) -> list[Sku]:
    """The SKUs that the caller may lease; all of them for the platform."""
    every, tenant = await catalog.every(tx, actor), actor.tenant_id
    if tenant is None:
        return every
    policy = (await policies.find(tx, [tenant]))[tenant]
    return [sku for sku in every if policy.allows(sku.name)]


async def stock(seen: Look, planner: Planner) -> list[Stock]:
    """What was seen, with how much more would fit after defragmentation. No transaction is open:
    planning takes its time."""
    every = [
        (sku, site, gpus) for sku in seen.skus for site in seen.at(sku) for gpus in sku.gpu_counts
    ]
    plans = await planner.plans({_wanted(*each) for each in every if _can_gain(*each)})
    more = {
        (sku.id, site, gpus): seen.viewer.gained(sku, gpus, plans[_wanted(sku, site, gpus)])
        for sku, site, gpus in every
        if _can_gain(sku, site, gpus)
    }

    def size(sku: Sku, site: str, gpus: int) -> Size:
        now = seen.counts[sku.id, gpus].get(site, 0)
        return Size(gpus, now, now + more.get((sku.id, site, gpus), 0))

    return [
        Stock(sku, site, tuple(size(sku, site, gpus) for gpus in sku.gpu_counts))
        for sku in seen.skus
        for site in seen.at(sku)
    ]


def _wanted(sku: Sku, site: str, gpus: int) -> Wanted:
    return Wanted(sku.family, site, Target(sku.shape, gpus))


def _can_gain(sku: Sku, _site: str, gpus: int) -> bool:
    """A single GPU is never in pieces."""
    return sku.shape is Shape.BAREMETAL or gpus > 1
