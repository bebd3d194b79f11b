"""Cedar, with policies that were parsed and checked once, and answers that are remembered."""

# cedarpy's own signatures have bare dicts:
# pyright: reportUnknownMemberType=false

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

import cedarpy

from penstock.central.access import questions
from penstock.central.access.resources import Resource
from penstock.kernel.actor import Actor

REMEMBERED_MAX: Final = 8192
QUOTED: Final = r'"([a-z_.]+)"'


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
        self._groups = groups(schema)
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
            asking = _asking(
                questions.asker(actor, grants),
                questions.deed(action, self._groups.get(action, ())),
            )
            known = asking.with_added_json_str(f"[{questions.surroundings(resource)}]")
            asked = questions.request(actor, action, resource)
            answer = cedarpy.is_authorized(asked, self._policies, known)
            named = cast("dict[str, str]", answer.diagnostics.id_annotations_by_reason)
            reasons = tuple(sorted(named.get(id, id) for id in answer.diagnostics.reasons))
            if answer.allowed:
                return Decision(True, reasons)
            denied += reasons
        return Decision(False, tuple(dict.fromkeys(denied)))


@lru_cache(maxsize=REMEMBERED_MAX)
def _asking(asker: str, deed: str) -> cedarpy.Entities:
    """Parsed once: most of what a question costs is reading it."""
    return cedarpy.Entities.from_json_str(f"[{asker},{deed}]")


def groups(schema: str) -> dict[str, tuple[str, ...]]:
    """By action: the groups that the schema puts it in. A group is in none itself."""
    found: dict[str, tuple[str, ...]] = {}
    for names, within in re.findall(
        r"\baction\s+([^;]*?)(?:\bin\s+\[([^\]]*)\])?\s+appliesTo", schema
    ):
        parents = tuple(re.findall(QUOTED, within))
        found.update(dict.fromkeys(re.findall(QUOTED, names), parents))
    return found
