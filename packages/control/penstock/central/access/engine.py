"""Cedar, with policies that were parsed and checked once, and answers that are remembered."""

# cedarpy's own signatures have bare dicts:
# pyright: reportUnknownMemberType=false

from dataclasses import dataclass
from typing import Final, cast

import cedarpy

from penstock.central.access import questions
from penstock.central.access.resources import Resource
from penstock.kernel.actor import Actor

REMEMBERED_MAX: Final = 8192


class PoliciesInvalid(Exception):
    """The policy files cannot be used; nothing is permitted with them."""


@dataclass(frozen=True)
class Decision:
    """`policies` are those that decided it; none, if nothing permits it."""

    allowed: bool
    policies: tuple[str, ...]


class Policies:
    def __init__(self, text: str, schema: str) -> None:
        checked = cedarpy.validate_policies(text, schema)
        if not checked.validation_passed:
            raise PoliciesInvalid("; ".join(str(error) for error in checked.errors))
        self._policies = cedarpy.PolicySet.from_str(text)
        # The schema says which actions belong to which group.
        self._actions = cedarpy.Entities.from_json_str("[]", cedarpy.Schema.from_str(schema))
        self._answers: dict[tuple[object, ...], Decision] = {}

    def permit(self, actor: Actor, action: str, resource: Resource) -> bool:
        return self.decide(actor, action, resource).allowed

    def decide(self, actor: Actor, action: str, resource: Resource) -> Decision:
        """The same question has the same answer as long as the policies are the same."""
        question = (
            actor, action, resource.noun, resource.path, resource.family, resource.residency,
            resource.role, resource.status,
        )  # fmt: skip
        answer = self._answers.get(question)
        if answer is None:
            if len(self._answers) >= REMEMBERED_MAX:
                self._answers.clear()
            answer = self._answers[question] = self.evaluate(actor, action, resource)
        return answer

    def evaluate(self, actor: Actor, action: str, resource: Resource) -> Decision:
        """Permitted if it is by the grants without conditions, or by any one that has some."""
        denied: list[str] = []
        for grants in questions.principals(actor):
            known = self._actions.with_added_json_str(questions.entities(actor, grants, resource))
            asked = questions.request(actor, action, resource)
            answer = cedarpy.is_authorized(asked, self._policies, known)
            named = cast("dict[str, str]", answer.diagnostics.id_annotations_by_reason)
            reasons = tuple(sorted(named.get(id, id) for id in answer.diagnostics.reasons))
            if answer.allowed:
                return Decision(True, reasons)
            denied += reasons
        return Decision(False, tuple(dict.fromkeys(denied)))
