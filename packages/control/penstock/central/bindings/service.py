"""What may be done to role bindings. The caller owns the transaction.

One takes effect with the next request of whoever it is bound to, and so does its end.
"""

from dataclasses import replace
from typing import Any

from penstock.central.access import grants, handing
from penstock.central.access.authorization import authorize, authorize_list
from penstock.central.access.roles import LEVELS, Role
from penstock.central.bindings import places, store
from penstock.central.bindings.model import Binding, Conditions, Subject
from penstock.central.bindings.places import Named, Place
from penstock.central.tenants import service as tenants
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor, Grant
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid, NotFound
from penstock_contracts.ids import BindingId, TenantId


async def bind(
    tx: Tx, actor: Actor, *, subject: str, role: Role, at: Named, conditions: Conditions
) -> Binding:
    """Give someone a role at a place. Nobody grants more than the policies let them, nor without
    the conditions of their own role."""
    place = await places.find(tx, actor, at)
    granted = replace(place.resource, role=role)
    asked = at.project or at.organization or ""
    granted = await tenants.with_status(tx, granted)
    authorize(actor, "role.bind", granted, asked=asked)
    if place.level not in LEVELS[role]:
        levels = " or ".join(sorted(LEVELS[role]))
        raise Invalid(
            f"role: {role} is bound to a {levels}, not to a {place.level}", code="wrong_level"
        )
    given = Grant(role, place.level, place.id, grants.conditions(conditions))
    handing.refuse_wider(actor, "role.bind", granted, [given], handing.BOUND)
    bound = await _subject(tx, subject, place.resource.tenant_id)
    made = _new(tx, actor, bound, role, place, conditions)
    await store.add(tx, made)
    _tell(tx, actor, made, "bind")
    return made


async def unbind(tx: Tx, actor: Actor, id: str) -> Binding:
    binding = await store.find(tx, id)
    if binding is None:
        raise NotFound("role", id)
    authorize(actor, "role.unbind", places.of(binding))
    if not await store.remove(tx, binding.id):
        raise NotFound("role", id)
    _tell(tx, actor, binding, "unbind")
    return binding


async def end_of(tx: Tx, actor: Actor, subject_id: str) -> list[Binding]:
    """Take everything from someone who is about to be no more. Whoever calls this has asked
    whether the actor may do that to them."""
    ended = await store.remove_of(tx, subject_id)
    for binding in ended:
        _tell(tx, actor, binding, "unbind")
    return ended


async def page(
    tx: Tx, actor: Actor, *, subject: str | None, scope: str | None, after: str, limit: int
) -> list[Binding]:
    reach = authorize_list(actor, "role")
    return await store.page(tx, reach, subject=subject, scope=scope, after=after, limit=limit)


async def _subject(tx: Tx, id: str, tenant_id: TenantId | None) -> Subject:
    """Someone of the tenant that the place is in; of the platform, if it is the platform's."""
    found = await store.subject(tx, id)
    if found is None or found.tenant_id != tenant_id:
        whose = f"tenant {tenant_id}" if tenant_id else "the platform"
        raise Invalid(
            f"subject: {whose} has no user, group, service account, key or client of its own "
            f"{id!r} to bind to",
            code="unknown_subject",
            suggestion="`penstock user ls`, `penstock group ls`, `penstock service-account ls`",
        )
    return found


def _new(
    tx: Tx, actor: Actor, bound: Subject, role: Role, place: Place, conditions: Conditions
) -> Binding:
    return Binding(
        BindingId.new(),
        bound.tenant_id,
        bound.kind,
        bound.id,
        role,
        place.level,
        place.id,
        conditions,
        actor.name,
        tx.now,
    )


def _tell(tx: Tx, actor: Actor, binding: Binding, verb: str) -> None:
    said: dict[str, Any] = {  # what audit entries and events say
        "bound_to": binding.subject_id,
        "role": binding.role,
        "scope": binding.scope,
        "scope_id": binding.scope_id,
        "conditions": dict(binding.conditions),
    }
    audit.record(tx, actor, f"role.{verb}", binding.id, tenant_id=binding.tenant_id, **said)
    happened = "role.bound" if verb == "bind" else "role.unbound"
    events.emit(tx, happened, binding.id, tenant_id=binding.tenant_id, **said)
