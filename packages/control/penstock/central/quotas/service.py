"""What may be done to quotas. The caller owns the transaction.

Limits are checked and set under the fleet's lock, which placement and cleanup hold while
they change what is held: so no limit is ever below what is used, nor above its parent's.
VLANs are given under the lock of their tenant's row, so a limit on them takes that too.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Literal

from penstock.central import fleet
from penstock.central.access.authorization import Resource, authorize
from penstock.central.quotas import refusals, rules, store
from penstock.central.quotas.model import LEASED, Kind, Level, Limit, Line, Measure, Scope
from penstock.central.skus import service as skus
from penstock.central.tenants import service as tenants
from penstock.kernel import audit, events, wakeups
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid
from penstock.kernel.questions import ask
from penstock_contracts.ids import TenantId

CHANGES: Final = {
    Level.TENANT: "quota.grant",
    Level.ORGANIZATION: "quota.set",
    Level.PROJECT: "quota.divide",
}


def resource(scope: Scope) -> Resource:
    project = scope.id if scope.level is Level.PROJECT else None
    return Resource(scope.level, scope.id, scope.tenant_id, scope.organization_id, project)


async def lines(tx: Tx, actor: Actor, scope: Scope) -> list[Line]:
    authorize(actor, "quota.view", resource(scope), asked=scope.asked)
    return await store.lines(tx, scope)


async def set_limit(tx: Tx, actor: Actor, scope: Scope, measure: Measure, most: int) -> Line:
    await _authorize_change(tx, actor, scope)
    await refuse_unknown(tx, scope.level, measure)
    await _lock(tx, scope, measure)
    before = await store.line(tx, scope, measure)
    others = await store.limits(tx, scope.tenant_id, measure.kind)
    refused = rules.refusal(Limit(scope, measure, most), before.used, others)
    if refused is not None:
        raise refused
    if before.limit != most:
        await store.put(tx, scope, measure, most)
        _tell(tx, actor, scope, "set", before, most)
    return replace(before, limit=most)


async def remove_limit(tx: Tx, actor: Actor, scope: Scope, measure: Measure) -> Line:
    """Afterwards there is no such limit; also if there was none."""
    await _authorize_change(tx, actor, scope)
    await _lock(tx, scope, measure)
    before = await store.line(tx, scope, measure)
    if await store.remove(tx, scope, measure):
        _tell(tx, actor, scope, "remove", before, None)
    return replace(before, limit=None)


async def _lock(tx: Tx, scope: Scope, measure: Measure) -> None:
    await fleet.lock(tx)
    if measure.kind is Kind.VLANS:
        await tenants.lock(tx, scope.tenant_id)


async def refuse_more(tx: Tx, tenant_id: TenantId, measure: Measure, more: int) -> None:
    """Unless the tenant may hold so many more. The caller holds the lock under which it takes."""
    for line in await ask(tx, store.limited(tx, [tenant_id], [measure.kind])):
        if line.measure == measure and more > line.room:
            raise refusals.exceeded(line, more)


async def _authorize_change(tx: Tx, actor: Actor, scope: Scope) -> None:
    """A tenant divides among its parts what the platform granted it, and they do the same."""
    about = await tenants.with_status(tx, resource(scope))
    seen = "tenant.view" if scope.level is Level.TENANT else "quota.view"
    authorize(actor, CHANGES[scope.level], about, seen=seen, asked=scope.asked)


async def held(tx: Tx, tenants: Iterable[TenantId]) -> dict[str, int]:
    """By tenant: the GPUs that it holds; for placement, which is fair to all."""
    return await store.held(tx, sorted(set(tenants)))


async def refuse_unknown(tx: Tx, level: Level, measure: Measure) -> None:
    """Raises if this cannot be limited there, or is not at all."""
    rules.refuse_level(level, measure)
    if measure.family and measure.family not in await skus.families(tx):
        raise Invalid(
            f"family: no SKU has the GPU family {measure.family!r}",
            code="unknown_family",
            suggestion="`penstock sku ls` lists what can be leased",
        )


def _tell(
    tx: Tx,
    actor: Actor,
    scope: Scope,
    verb: Literal["set", "remove"],
    before: Line,
    now: int | None,
) -> None:
    measure = before.measure
    what: dict[str, object] = {measure.kind.field: now}
    if measure.kind is Kind.GPUS:
        what["family"] = measure.family
    if measure.kind is Kind.SPEND:
        what["currency"] = measure.currency
    audit.record(
        tx, actor, f"quota.{verb}", scope.id, tenant_id=scope.tenant_id,
        reason="", **what, before={measure.kind.field: before.limit},
    )  # fmt: skip
    events.emit(
        tx, "quota.set" if verb == "set" else "quota.removed", scope.id, tenant_id=scope.tenant_id,
        **what, before=before.limit,
    )  # fmt: skip
    if measure.kind in LEASED:
        wakeups.notify(tx, fleet.ROOM)  # what did not fit may fit now


async def forget(tx: Tx, tenant_id: TenantId) -> None:
    """All limits of a tenant that never came to be, at every level."""
    await store.forget(tx, tenant_id)
