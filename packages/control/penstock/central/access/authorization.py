"""The first wall: Cedar policies, parsed once, asked on every call."""

# cedarpy's own signatures have bare dicts:
# pyright: reportUnknownMemberType=false

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import cedarpy

from penstock.kernel.actor import Actor
from penstock.kernel.errors import Forbidden, NotFound
from penstock_contracts.ids import TenantId

REMEMBERED_MAX: Final = 8192
FOLDER: Final = Path(__file__).parent
OVERSEERS: Final = ("platform_admin", "system", "admin")  # see what is others', within their wall


class PoliciesInvalid(Exception):
    """The policy files cannot be used; nothing is permitted with them."""


@dataclass(frozen=True)
class Resource:
    """What is acted on. No id: the collection. No tenant: the platform's own. The status is
    its tenant's, where that matters."""

    noun: str
    id: str | None = None
    tenant_id: TenantId | None = None
    status: str = ""


class Policies:
    def __init__(self, text: str, schema: str) -> None:
        checked = cedarpy.validate_policies(text, schema)
        if not checked.validation_passed:
            raise PoliciesInvalid("; ".join(str(error) for error in checked.errors))
        self._policies = cedarpy.PolicySet.from_str(text)
        # The schema says which actions belong to which group.
        self._actions = cedarpy.Entities.from_json_str("[]", cedarpy.Schema.from_str(schema))

        self._answers: dict[tuple[Actor, str, str, str, str], bool] = {}

    def permit(self, actor: Actor, action: str, resource: Resource) -> bool:
        """The same question has the same answer as long as the policies are the same."""
        question = (actor, action, resource.noun, resource.tenant_id or "", resource.status)
        answer = self._answers.get(question)
        if answer is None:
            if len(self._answers) >= REMEMBERED_MAX:
                self._answers.clear()
            answer = self._answers[question] = self._ask(actor, action, resource)
        return answer

    def _ask(self, actor: Actor, action: str, resource: Resource) -> bool:
        principal = f'Penstock::Actor::"{actor.id}"'
        entities: list[dict[str, object]] = [
            {
                "uid": {"type": "Penstock::Actor", "id": actor.id},
                "attrs": {
                    "role": actor.role,
                    "tenant": actor.tenant_id or "",
                    "scopes": ["all"] if actor.scopes is None else sorted(actor.scopes),
                },
                "parents": [],
            },
            {
                "uid": {"type": "Penstock::Thing", "id": resource.noun},
                "attrs": {
                    "noun": resource.noun,
                    "tenant": resource.tenant_id or "",
                    "status": resource.status,
                },
                "parents": [],
            },
        ]
        request: dict[str, object] = {
            "principal": principal,
            "action": f'Penstock::Action::"{action}"',
            # Not its id, which a caller may have written: what matters are its attributes.
            "resource": f'Penstock::Thing::"{resource.noun}"',
            "context": {},
        }
        known = self._actions.with_added_json_str(json.dumps(entities))
        return cedarpy.is_authorized(request, self._policies, known).allowed


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
    if resource.status and POLICIES.permit(actor, action, replace(resource, status="")):
        raise Forbidden(
            f"tenant {resource.tenant_id} is {resource.status}; {action} must wait until it is "
            "active",
            code=f"tenant_{resource.status}",
            suggestion="`penstock tenant show` says why; the platform's operators can resume it"
            if resource.status == "suspended"
            else None,
        )
    if actor.scopes is not None:
        scopes = " ".join(sorted(actor.scopes)) or "none"
        raise Forbidden(
            f"your role {actor.role!r} and the token's scopes ({scopes}) do not permit {action}"
        )
    raise Forbidden(f"your role {actor.role!r} does not permit {action}")
