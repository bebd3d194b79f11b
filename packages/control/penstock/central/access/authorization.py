"""The first wall: Cedar policies, parsed once, asked on every call."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import cedarpy

from penstock.kernel.actor import Actor
from penstock.kernel.errors import Forbidden, NotFound
from penstock_contracts.ids import TenantId

FOLDER: Final = Path(__file__).parent

# cedarpy's own signatures have bare dicts; these are the parts that we use, with types.
VALIDATE = cast(
    "Callable[[str, str], cedarpy.ValidationResult]",
    cedarpy.validate_policies,  # pyright: ignore[reportUnknownMemberType] # see above
)
DECIDE = cast(
    "Callable[[dict[str, object], cedarpy.PolicySet, str], cedarpy.AuthzResult]",
    cedarpy.is_authorized,  # pyright: ignore[reportUnknownMemberType] # see above
)


class PoliciesInvalid(Exception):
    """The policy files cannot be used; nothing is permitted with them."""


@dataclass(frozen=True)
class Resource:
    """What is acted on. No id: the collection. No tenant: the platform's own."""

    noun: str
    id: str | None = None
    tenant_id: TenantId | None = None


class Policies:
    def __init__(self, text: str, schema: str) -> None:
        checked = VALIDATE(text, schema)
        if not checked.validation_passed:
            raise PoliciesInvalid("; ".join(str(error) for error in checked.errors))
        self._policies = cedarpy.PolicySet.from_str(text)

    def permit(self, actor: Actor, action: str, resource: Resource) -> bool:
        principal = f'Penstock::Actor::"{actor.id}"'
        thing = f'Penstock::Thing::"{resource.id or resource.noun}"'
        entities: list[dict[str, object]] = [
            {
                "uid": {"type": "Penstock::Actor", "id": actor.id},
                "attrs": {"role": actor.role, "tenant": actor.tenant_id or ""},
                "parents": [],
            },
            {
                "uid": {"type": "Penstock::Thing", "id": resource.id or resource.noun},
                "attrs": {"noun": resource.noun, "tenant": resource.tenant_id or ""},
                "parents": [],
            },
            *self._groups(action),
        ]
        request: dict[str, object] = {
            "principal": principal,
            "action": f'Penstock::Action::"{action}"',
            "resource": thing,
            "context": {},
        }
        return DECIDE(request, self._policies, json.dumps(entities)).allowed

    def _groups(self, action: str) -> list[dict[str, object]]:
        group = GROUPS.get(action)
        if group is None:
            return []
        uid = {"type": "Penstock::Action", "id": action}
        return [{"uid": uid, "attrs": {}, "parents": [{**uid, "id": group}]}]


GROUPS: Final = {
    **dict.fromkeys(
        ("tenant.view", "project.view", "allocation.view", "usage.view", "event.view"),
        "tenant.read",
    ),
    **dict.fromkeys(("allocation.create", "allocation.release"), "tenant.use"),
    **dict.fromkeys(("project.create", "key.create"), "tenant.administer"),
}


def load() -> Policies:
    """The policies of the tree; refuses to start with broken ones."""
    text = (FOLDER / "policies.cedar").read_text()
    return Policies(text, (FOLDER / "policies.cedarschema").read_text())


POLICIES: Final = load()


def authorize(actor: Actor, action: str, resource: Resource) -> None:
    """Return if permitted. What the actor may not even see does not exist for it."""
    if POLICIES.permit(actor, action, resource):
        return
    if resource.id is not None and not POLICIES.permit(actor, f"{resource.noun}.view", resource):
        raise NotFound(resource.noun, resource.id)
    raise Forbidden(f"your role {actor.role!r} does not permit {action}")
