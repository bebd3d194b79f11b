"""Bringing limits to what a file says, and back. Each change is one that the rules of quotas
allow at that moment, so undoing them one by one, the last first, is allowed too."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.central.quotas import service as quotas
from penstock.central.quotas import words
from penstock.central.quotas.model import Kind, Level, Measure, Scope, measure
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock_contracts.ids import OrganizationId, TenantId

Change = dict[str, object]  # as it is kept, to be undone


async def lower(tx: Tx, actor: Actor, scope: Scope, wanted: Mapping[Measure, int]) -> list[Change]:
    """Only what comes down or goes, so that what is around may come down next."""
    there = await _limits(tx, actor, scope)
    changes = await _remove(tx, actor, scope, there, wanted)
    return changes + await _down(tx, actor, scope, there, wanted)


async def bring(
    tx: Tx, actor: Actor, scope: Scope, wanted: Mapping[Measure, int], *, only: Kind | None = None
) -> list[Change]:
    """Exactly these limits (of one kind, or of all): others of the scope are removed."""
    there = {of: most for of, most in (await _limits(tx, actor, scope)).items() if _is(of, only)}
    wanted = {of: most for of, most in wanted.items() if _is(of, only)}
    changes = await _remove(tx, actor, scope, there, wanted)
    changes += await _down(tx, actor, scope, there, wanted)
    for of, most in sorted(wanted.items()):  # the whole before its parts
        if of not in there or most > there[of]:
            changes.append(await _set(tx, actor, scope, of, most, there.get(of)))
    return changes


async def _remove(
    tx: Tx, actor: Actor, scope: Scope, there: Mapping[Measure, int], wanted: Mapping[Measure, int]
) -> list[Change]:
    gone = sorted(there.keys() - wanted.keys())
    for of in gone:
        await quotas.remove_limit(tx, actor, scope, of)
    return [_change(scope, of, there[of]) for of in gone]


async def _down(
    tx: Tx, actor: Actor, scope: Scope, there: Mapping[Measure, int], wanted: Mapping[Measure, int]
) -> list[Change]:
    """The parts before the whole."""
    return [
        await _set(tx, actor, scope, of, most, there[of])
        for of, most in sorted(wanted.items(), reverse=True)
        if of in there and most < there[of]
    ]


def _is(of: Measure, only: Kind | None) -> bool:
    return only is None or of.kind is only


async def put_back(tx: Tx, actor: Actor, changes: Sequence[Mapping[str, Any]]) -> str:
    """What has been used in the meantime cannot be taken away, and stays allowed."""
    kept: list[str] = []
    for change in reversed(changes):
        scope, of, before = _scope(change), measure(change["measure"]), change["before"]
        try:
            async with tx.savepoint():
                if before is None:
                    await quotas.remove_limit(tx, actor, scope, of)
                else:
                    await quotas.set_limit(tx, actor, scope, of, before)
        except Conflict as refusal:
            kept.append(refusal.detail)
    return "; ".join(["put back", *kept])


def said(scope: Scope, wanted: Mapping[Measure, int]) -> str:
    limits = ", ".join(words.so_much(of, most) for of, most in sorted(wanted.items()))
    return f"{scope.level}: {limits or 'no limit'}"


async def _limits(tx: Tx, actor: Actor, scope: Scope) -> dict[Measure, int]:
    lines = await quotas.lines(tx, actor, scope)
    return {line.measure: line.limit for line in lines if line.limit is not None}


async def _set(
    tx: Tx, actor: Actor, scope: Scope, of: Measure, most: int, before: int | None
) -> Change:
    await quotas.set_limit(tx, actor, scope, of, most)
    return _change(scope, of, before)


def _change(scope: Scope, of: Measure, before: int | None) -> Change:
    return {
        "level": scope.level,
        "id": scope.id,
        "tenant": scope.tenant_id,
        "organization": scope.organization_id,
        "measure": str(of),
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
