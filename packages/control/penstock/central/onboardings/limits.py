"""Bringing limits to what a file says, and back. Each change is one that the rules of quotas
allow at that moment, so undoing them one by one, the last first, is allowed too."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.central.quotas import service as quotas
from penstock.central.quotas.model import Level, Scope, kind
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock_contracts.ids import OrganizationId, TenantId

Change = dict[str, object]  # as it is kept, to be undone


async def lower(tx: Tx, actor: Actor, scope: Scope, wanted: Mapping[str, int]) -> list[Change]:
    """Only what comes down, so that what is around may come down next."""
    there = await _limits(tx, actor, scope)
    return [
        await _set(tx, actor, scope, family, most, there[family])
        for family, most in sorted(wanted.items())
        if family in there and most < there[family]
    ]


async def bring(tx: Tx, actor: Actor, scope: Scope, wanted: Mapping[str, int]) -> list[Change]:
    """Exactly these limits: others of the scope are removed."""
    there = await _limits(tx, actor, scope)
    changes: list[Change] = []
    for family in sorted(there.keys() - wanted.keys()):
        await quotas.remove_limit(tx, actor, scope, family)
        changes.append(_change(scope, family, there[family]))
    for family, most in sorted(wanted.items()):
        if there.get(family) != most:
            changes.append(await _set(tx, actor, scope, family, most, there.get(family)))
    return changes


async def put_back(tx: Tx, actor: Actor, changes: Sequence[Mapping[str, Any]]) -> str:
    """What has been used in the meantime cannot be taken away, and stays allowed."""
    kept: list[str] = []
    for change in reversed(changes):
        scope, family, before = _scope(change), change["family"], change["before"]
        try:
            async with tx.savepoint():
                if before is None:
                    await quotas.remove_limit(tx, actor, scope, family)
                else:
                    await quotas.set_limit(tx, actor, scope, family, before)
        except Conflict as refusal:
            kept.append(refusal.detail)
    return "; ".join(["put back", *kept])


def said(scope: Scope, wanted: Mapping[str, int]) -> str:
    limits = ", ".join(kind(family, most) for family, most in sorted(wanted.items()))
    return f"{scope.level}: {limits or 'no limit'}"


async def _limits(tx: Tx, actor: Actor, scope: Scope) -> dict[str, int]:
    lines = await quotas.lines(tx, actor, scope)
    return {line.family: line.gpus_max for line in lines if line.gpus_max is not None}


async def _set(
    tx: Tx, actor: Actor, scope: Scope, family: str, most: int, before: int | None
) -> Change:
    await quotas.set_limit(tx, actor, scope, family, most)
    return _change(scope, family, before)


def _change(scope: Scope, family: str, before: int | None) -> Change:
    return {
        "level": scope.level,
        "id": scope.id,
        "tenant": scope.tenant_id,
        "organization": scope.organization_id,
        "family": family,
        "before": before,
    }


def _scope(change: Mapping[str, Any]) -> Scope:
    organization = change["organization"]
    return Scope(
        Level(change["level"]),
        change["id"],
        TenantId(change["tenant"]),
        OrganizationId(organization) if organization else None,
    )
