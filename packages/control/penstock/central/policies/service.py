"""What may be done to a tenant's placement policy. The caller owns the transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from penstock.central import fleet
from penstock.central.access.authorization import Resource, authorize
from penstock.central.policies import store
from penstock.central.policies.model import Policy
from penstock.central.sites import service as site_service
from penstock.central.skus import service as skus
from penstock.central.tenants import service as tenants
from penstock.kernel import audit, events, wakeups
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid, NotFound
from penstock.kernel.questions import Question, ask
from penstock_contracts.ids import SiteId, TenantId


async def get(tx: Tx, actor: Actor, tenant: str) -> Policy:
    """Everyone of the tenant may see it: refusals are explained by it."""
    owner = await tenants.get(tx, actor, tenant)
    authorize(actor, "policy.view", Resource("tenant", owner.id, owner.id))
    return (await find(tx, [owner.id]))[owner.id]


def of_tenants(owners: Iterable[TenantId]) -> Question[dict[TenantId, Policy]]:
    """The policy of each tenant; one that allows everything for those that have none."""
    return store.of_tenants(sorted(set(owners)))


async def find(tx: Tx, owners: Iterable[TenantId]) -> dict[TenantId, Policy]:
    return await ask(tx, of_tenants(owners))


async def put(
    tx: Tx, actor: Actor, tenant: str, wanted: Policy, sites: Sequence[str] | None
) -> Policy:
    """Replace the policy, its sites given by id or name. Leases that run stay where they are."""
    owner = await tenants.get(tx, actor, tenant)
    authorize(actor, "policy.set", tenants.resource(owner))
    # Placement reads policies under this lock: once this is answered, none follows the old one.
    await fleet.lock(tx)
    before = (await find(tx, [owner.id]))[owner.id]
    allowed = None if sites is None else await site_ids(tx, sites)
    await refuse_unknown_skus(tx, wanted.skus)
    after = replace(wanted, tenant_id=owner.id, revision=before.revision, sites=allowed)
    if after == before:
        return before
    after = replace(after, revision=before.revision + 1)
    await store.put(tx, actor, after)
    said, was = _said(after), _said(before)
    audit.record(tx, actor, "policy.set", owner.id, tenant_id=owner.id, **said, before=was)
    events.emit(tx, "policy.set", owner.id, tenant_id=owner.id, **said)
    wakeups.notify(tx, fleet.ROOM)  # who waits may be placed elsewhere now, or before another
    return after


def _said(policy: Policy) -> dict[str, Any]:  # what asdict says of any dataclass
    return {name: value for name, value in asdict(policy).items() if name != "tenant_id"}


async def site_ids(tx: Tx, references: Sequence[str]) -> tuple[SiteId, ...]:
    found: set[SiteId] = set()
    for reference in references:
        try:
            found.add((await site_service.get(tx, SYSTEM, reference)).id)
        except NotFound as missing:
            raise Invalid(f"sites: {missing.detail}", code="unknown_site") from None
    return tuple(sorted(found))


async def refuse_unknown_skus(tx: Tx, names: Sequence[str] | None) -> None:
    known = {sku.name for sku in await skus.find(tx, list(names or ()))}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise Invalid(
            f"skus: there is no SKU {unknown[0]!r}",
            code="unknown_sku",
            suggestion="`penstock sku ls` lists what can be leased",
        )


async def forget(tx: Tx, tenant_id: TenantId) -> None:
    """Of a tenant that never came to be."""
    await store.forget(tx, tenant_id)
