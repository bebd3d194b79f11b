"""From who asks for what to a question that Cedar can answer. Pure."""

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from penstock.central.access.resources import Resource
from penstock.central.access.roles import Role, held
from penstock.kernel.actor import Actor, Conditions, Grant
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
    who = (actor.id, actor.tenant_id, actor.scopes, actor.second_factor, actor.role == "system")
    return _actor(*who, grants)


def surroundings(resource: Resource) -> str:
    """The thing, and the places it is in: entities."""
    return f"{_thing(resource)},{_places(resource.path)}"


def deed(action: str, groups: Iterable[str]) -> str:
    """The action, as an entity: the policies ask which groups it belongs to."""
    kind = f"{NAMESPACE}::Action"
    parents = [{"type": kind, "id": group} for group in groups]
    return json.dumps({"uid": {"type": kind, "id": action}, "attrs": {}, "parents": parents})


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
    tenant_id: TenantId | None,
    scopes: frozenset[str] | None,
    second_factor: bool,
    system: bool,
    grants: frozenset[Grant],
) -> str:
    where = {role: sorted({g.place for g in grants if g.role == role}) for role in Role}
    attributes: dict[str, object] = {
        **{role: _references(places) for role, places in where.items()},
        "roles": [role for role, places in where.items() if places],
        "home": _references([] if tenant_id is None else [tenant_id]),
        "scopes": ["all"] if scopes is None else sorted(scopes),
        "second_factor": second_factor,
        "system": system,
    }
    for grant in grants:
        attributes.update(conditions(grant.conditions))
    return _entity("Actor", id, attributes, [])


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


def _thing(resource: Resource) -> str:
    attributes: dict[str, object] = {"noun": resource.noun, "status": resource.status}
    if resource.family is not None:
        attributes["family"] = resource.family
    if resource.residency is not None:
        attributes["residency"] = sorted(resource.residency)
    if resource.role is not None:
        attributes["role"] = resource.role
    return _entity("Thing", resource.noun, attributes, [resource.path[0]])


@lru_cache(maxsize=REMEMBERED_MAX)
def _places(path: tuple[str, ...]) -> str:
    """Each in the next; the last is in none."""
    if len(path) == 1:
        return _entity("Place", path[0], {}, [])
    return f"{_entity('Place', path[0], {}, [path[1]])},{_places(path[1:])}"


def _entity(kind: str, id: str, attributes: dict[str, object], parents: Iterable[str]) -> str:
    return json.dumps(
        {
            "uid": {"type": f"{NAMESPACE}::{kind}", "id": id},
            "attrs": attributes,
            "parents": [{"type": f"{NAMESPACE}::Place", "id": parent} for parent in parents],
        }
    )


def _references(places: list[str]) -> list[object]:
    return [{"__entity": {"type": f"{NAMESPACE}::Place", "id": place}} for place in places]
