"""From who asks for what to a question that Cedar can answer. Pure."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

import orjson

from penstock.central.access.resources import Resource
from penstock.central.access.roles import Role, held
from penstock.kernel.actor import SYSTEM, Actor, Conditions, Grant
from penstock_contracts.ids import TenantId

REMEMBERED_MAX: Final = 4096
NAMESPACE: Final = "Penstock"


def principals(actor: Actor) -> Iterator[frozenset[Grant]]:
    """Grants that are judged together: those without conditions, then each that has some.

    So a condition limits its own binding, and no other that the actor has.
    """
    grants = held(actor)
    yield frozenset(grant for grant in grants if not grant.conditions)
    for grant in sorted((g for g in grants if g.conditions), key=lambda g: (g.role, g.place)):
        yield frozenset({grant})


def asker(actor: Actor, grants: frozenset[Grant]) -> str:
    """Who asks, as an entity."""
    who = (actor.id, kind(actor), actor.tenant_id, actor.scopes, actor.second_factor)
    return _actor(*who, actor.role == SYSTEM.role, grants)


def kind(actor: Actor) -> str:
    """How it calls: a `user` who signed in, a `key`, a `client`, or the `system` itself."""
    if actor.role == SYSTEM.role:
        return SYSTEM.kind  # for whomever it works
    return "key" if actor.kind == "service_account" else actor.kind  # which is how those call


def thing(resource: Resource) -> str:
    """What is acted on, as an entity in each of its places. Those are no entities themselves:
    most of what a question costs is reading it."""
    attributes: dict[str, object] = {"noun": resource.noun, "status": resource.status}
    if resource.family is not None:
        attributes["family"] = resource.family
    if resource.residency is not None:
        attributes["residency"] = sorted(resource.residency)
    if resource.role is not None:
        attributes["role"] = resource.role
    return _entity("Thing", resource.noun, attributes, "Place", resource.path)


@lru_cache(maxsize=REMEMBERED_MAX)
def deed(action: str, groups: tuple[str, ...]) -> str:
    """The action, as an entity: the policies ask which groups it belongs to."""
    return _entity("Action", action, {}, "Action", groups)


def request(actor: Actor, action: str, resource: Resource) -> dict[str, object]:
    return {
        "principal": {"type": f"{NAMESPACE}::Actor", "id": actor.id},
        "action": {"type": f"{NAMESPACE}::Action", "id": action},
        # Not its id, which a caller may have written: what matters are its attributes.
        "resource": {"type": f"{NAMESPACE}::Thing", "id": resource.noun},
        "context": f'{{"hour":{actor.hour},"weekday":{actor.weekday}}}',
    }


@lru_cache(maxsize=REMEMBERED_MAX)
def _actor(
    id: str,
    kind: str,
    tenant_id: TenantId | None,
    scopes: frozenset[str] | None,
    second_factor: bool,
    system: bool,
    grants: frozenset[Grant],
) -> str:
    where = {role.value: sorted({g.place for g in grants if g.role == role}) for role in Role}
    attributes: dict[str, object] = {
        "kind": kind,
        **{role: _references(places) for role, places in where.items()},
        "roles": [role for role, places in where.items() if places],
        "home": _references([] if tenant_id is None else [tenant_id]),
        "scopes": ["all"] if scopes is None else sorted(scopes),
        "second_factor": second_factor,
        "system": system,
    }
    for grant in grants:
        attributes.update(conditions(grant.conditions))
    return _entity("Actor", id, attributes, "Place", ())


def conditions(given: Conditions) -> dict[str, object]:
    """As attributes of the actor, in the words of the schema."""
    said = dict(given)
    found: dict[str, object] = {
        name: list(said[name]) for name in ("families", "residency") if name in said
    }
    if "hours" in said:
        begin, end = said["hours"]
        found["hours"] = {"from": int(begin), "to": int(end)}
    if "weekdays" in said:
        found["weekdays"] = [int(day) for day in said["weekdays"]]
    if "second_factor" in said:
        found["needs_second_factor"] = True
    return found


def _entity(
    type: str, id: str, attributes: dict[str, object], parent: str, parents: Iterable[str]
) -> str:
    return orjson.dumps(
        {
            "uid": {"type": f"{NAMESPACE}::{type}", "id": id},
            "attrs": attributes,
            "parents": [{"type": f"{NAMESPACE}::{parent}", "id": one} for one in parents],
        }
    ).decode()


def _references(places: list[str]) -> list[object]:
    return [{"__entity": {"type": f"{NAMESPACE}::Place", "id": place}} for place in places]
