"""What may be done to a tenant's network. The caller owns the transaction.

Whatever a tenant is given it keeps until it is offboarded, so that nothing is reused while a
host may still speak with it. Who takes from pools takes turns: first the tenant's row, then
the lock of the pools. The database's exclusion constraints hold without either.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from penstock.central.access.authorization import Resource, authorize
from penstock.central.networks import model, store
from penstock.central.networks.model import Assignment, Need, Network
from penstock.central.networks.taking import Stock
from penstock.central.pools import service as pools
from penstock.central.pools.model import Kind, Pool
from penstock.central.quotas import service as quotas
from penstock.central.quotas.model import VLANS
from penstock.central.tenants import service as tenants
from penstock.central.tenants.model import HERE, Tenant
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock_contracts.ids import AssignmentId, SiteId, TenantId

LOCK: Final = 0x504F4F4C  # "POOL"


async def get(tx: Tx, actor: Actor, tenant: str) -> list[Assignment]:
    """Everyone of the tenant may see what it has."""
    owner = await tenants.get(tx, actor, tenant)
    authorize(actor, "network.view", Resource("tenant", owner.id, owner.id))
    return await store.of_tenant(tx, owner.id)


async def expand(
    tx: Tx, actor: Actor, tenant: str, more: Network, *, site: str | None = None
) -> list[Assignment]:
    """Give the tenant more than it has at a site (by id or name; none: everywhere); its first VRF
    there comes by itself."""
    owner = await tenants.get(tx, actor, tenant)
    authorize(actor, "network.expand", tenants.resource(owner))
    # Not before: who may not do this does not learn which sites there are.
    more = replace(more, site_id=await pools.site_of(tx, site))
    held = await _locked(tx, owner.id)
    there = model.held(more.site_id, held)
    wanted = replace(
        more,
        vrfs=1,
        vlans=there.vlans + more.vlans,
        vnis=max(there.vnis, more.vnis),
        pkeys=max(there.pkeys, more.pkeys),
        ipv4=there.ipv4 + more.ipv4,
        ipv6=there.ipv6 + more.ipv6,
    )
    _refuse_too_many(wanted)
    return await _give(tx, actor, owner.id, wanted.site_id, model.missing(wanted, there), held)


async def ensure(
    tx: Tx, actor: Actor, tenant_id: TenantId, wanted: Sequence[Network]
) -> list[Assignment]:
    """Give the tenant what it lacks; the new ones. Less than it has is refused."""
    there = await _locked(tx, tenant_id)
    _refuse_less(wanted, there)
    given: list[Assignment] = []
    for network in wanted:
        needs = model.missing(network, model.held(network.site_id, there))
        given += await _give(tx, actor, tenant_id, network.site_id, needs, there)
    return given


async def give_back(tx: Tx, actor: Actor, tenant_id: TenantId) -> int:
    """When the tenant is gone: its numbers and prefixes may be another's from now on."""
    returned = await store.give_back(tx, tenant_id)
    if returned:
        audit.record(tx, actor, "network.return", tenant_id, tenant_id=tenant_id, returned=returned)
        events.emit(tx, "network.returned", tenant_id, tenant_id=tenant_id, returned=returned)
    return returned


async def forget(tx: Tx, actor: Actor, tenant_id: TenantId) -> int:
    """Of a tenant that never came to be."""
    forgotten = await store.forget(tx, tenant_id)
    if forgotten:
        audit.record(
            tx, actor, "network.return", tenant_id, tenant_id=tenant_id, returned=forgotten
        )
    return forgotten


async def stock(tx: Tx, of: Sequence[Pool]) -> Stock:
    """What is left of these pools."""
    held = await store.of_pools(tx, [pool.id for pool in of])
    return Stock(of, [(each.pool_id, each.value) for each in held])


async def _locked(tx: Tx, tenant_id: TenantId) -> list[Assignment]:
    """What the tenant has; it stays so, and it stays a tenant, until the transaction ends."""
    tenant = await tenants.lock(tx, tenant_id)
    _refuse_gone(tenant)
    await tx.lock(LOCK)
    return await store.of_tenant(tx, tenant_id)


async def _give(
    tx: Tx,
    actor: Actor,
    tenant_id: TenantId,
    site_id: SiteId | None,
    needs: Sequence[Need],
    held: Sequence[Assignment],
) -> list[Assignment]:
    if not needs:
        return []
    if vlans := sum(need.count for need in needs if need.kind is Kind.VLAN):
        await quotas.refuse_more(tx, tenant_id, VLANS, vlans)
    available = await stock(tx, await pools.within(tx, site_id, [*Kind]))
    given = [
        Assignment(
            AssignmentId.new(), tenant_id, taken.pool.id, taken.pool.kind, site_id,
            taken.value, tx.now,
        )
        for need in needs
        for taken in available.take(need)
    ]  # fmt: skip
    await store.add(tx, given)
    said = _said(given)
    audit.record(
        tx, actor, "network.assign", tenant_id, tenant_id=tenant_id, site=site_id, given=said,
        before={"has": _said([each for each in held if each.site_id == site_id])},
    )  # fmt: skip
    events.emit(tx, "network.assigned", tenant_id, tenant_id=tenant_id, site=site_id, given=said)
    return given


def _said(assignments: Sequence[Assignment]) -> list[str]:
    return [f"{each.kind} {each.shown}" for each in assignments]


def _refuse_gone(tenant: Tenant) -> None:
    if tenant.status not in HERE:
        raise Conflict(
            f"tenant {tenant.name} is {tenant.status}; it is given no networks",
            code=f"tenant_{tenant.status}",
        )


async def refuse_less(tx: Tx, tenant_id: TenantId, wanted: Sequence[Network] | None) -> None:
    """None: nothing is said of its network."""
    if wanted is not None:
        _refuse_less(wanted, await store.of_tenant(tx, tenant_id))


def _refuse_less(wanted: Sequence[Network], there: Sequence[Assignment]) -> None:
    scopes = {network.site_id for network in wanted}
    gone = [Network(site) for site in {each.site_id for each in there} - scopes]
    for network in (*wanted, *gone):
        if over := model.surplus(network, model.held(network.site_id, there)):
            where = f"at {network.site_id}" if network.site_id else "everywhere"
            raise Conflict(
                f"the tenant has {over} {where}; a network only grows, until its tenant is "
                "offboarded",
                code="network_cannot_shrink",
                suggestion="ask for at least what `penstock tenant network show` lists",
            )


def _refuse_too_many(wanted: Network) -> None:
    prefixes = len(wanted.ipv4) + len(wanted.ipv6)
    if wanted.vlans > model.VLANS_MAX or prefixes > model.PREFIXES_MAX:
        raise Conflict(
            f"that would be {wanted.vlans} VLANs and {prefixes} prefixes; a tenant has at most "
            f"{model.VLANS_MAX} and {model.PREFIXES_MAX} in one place",
            code="network_too_large",
        )
