"""What may be done to quotas. The caller owns the transaction.

Limits are checked and set under the fleet's lock, which placement and cleanup hold while
they change what is held: so no limit is ever below what is used, nor above its parent's.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Literal

from penstock.central import fleet
from penstock.central.access.authorization import Resource, authorize
from penstock.central.quotas import rules, store
from penstock.central.quotas.model import TOTAL, Level, Limit, Line, Scope
from penstock.central.skus import service as skus
from penstock.central.tenants import service as tenants
from penstock.kernel import audit, events, wakeups
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid
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
    authorize(actor, "quota.view", resource(scope))
    return await store.lines(tx, scope)


async def set_limit(tx: Tx, actor: Actor, scope: Scope, family: str, gpus_max: int) -> Line:
    """Limit a family, or (TOTAL) all together."""
    await _authorize_change(tx, actor, scope)
    await refuse_unknown(tx, family)
    await fleet.lock(tx)
    before = await _line(tx, scope, family)
    others = await store.limits(tx, scope.tenant_id, family)
    refused = rules.refusal(Limit(scope, gpus_max), family, before.gpus_used, others)
    if refused is not None:
        raise refused
    if before.gpus_max != gpus_max:
        await store.put(tx, scope, family, gpus_max)
        _tell(tx, actor, scope, "set", before, gpus_max)
    return replace(before, gpus_max=gpus_max)


async def remove_limit(tx: Tx, actor: Actor, scope: Scope, family: str) -> Line:
    """Afterwards there is no such limit; also if there was none."""
    await _authorize_change(tx, actor, scope)
    await fleet.lock(tx)
    before = await _line(tx, scope, family)
    if await store.remove(tx, scope, family):
        _tell(tx, actor, scope, "remove", before, None)
    return replace(before, gpus_max=None)


async def _authorize_change(tx: Tx, actor: Actor, scope: Scope) -> None:
    """A tenant divides among its parts what the platform granted it, and they do the same."""
    status = (await tenants.statuses(tx, [scope.tenant_id])).get(scope.tenant_id, "")
    about = replace(resource(scope), status=status)
    seen = "tenant.view" if scope.level is Level.TENANT else "quota.view"
    authorize(actor, CHANGES[scope.level], about, seen=seen)


async def held(tx: Tx, tenants: Iterable[TenantId]) -> dict[str, int]:
    """By tenant: the GPUs that it holds; for placement, which is fair to all."""
    return await store.held(tx, sorted(set(tenants)))


async def refuse_unknown(tx: Tx, family: str) -> None:
    if family != TOTAL and family not in await skus.families(tx):
        raise Invalid(
            f"family: no SKU has the GPU family {family!r}",
            code="unknown_family",
            suggestion="`penstock sku ls` lists what can be leased",
        )


async def _line(tx: Tx, scope: Scope, family: str) -> Line:
    found = [line for line in await store.lines(tx, scope) if line.family == family]
    return found[0] if found else Line(scope.level, scope.id, family, None, 0)


def _tell(
    tx: Tx,
    actor: Actor,
    scope: Scope,
    verb: Literal["set", "remove"],
    before: Line,
    now: int | None,
) -> None:
    audit.record(
        tx, actor, f"quota.{verb}", scope.id, tenant_id=scope.tenant_id,
        family=before.family, gpus_max=now, before={"gpus_max": before.gpus_max},
    )  # fmt: skip
    events.emit(
        tx, "quota.set" if verb == "set" else "quota.removed", scope.id, tenant_id=scope.tenant_id,
        family=before.family, gpus_max=now, before=before.gpus_max,
    )  # fmt: skip
    wakeups.notify(tx, fleet.ROOM)  # what did not fit may fit now


async def forget(tx: Tx, tenant_id: TenantId) -> None:
    """All limits of a tenant that never came to be, at every level."""
    await store.forget(tx, tenant_id)
