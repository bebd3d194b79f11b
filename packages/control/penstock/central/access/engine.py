"""Cedar, with policies that were parsed and checked once, and answers that are remembered."""

# cedarpy's own signatures have bare dicts:
# pyright: reportUnknownMemberType=false

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import cedarpy
from cedarpy import pst

from penstock.central.access import questions
from penstock.central.access.resources import Resource
from penstock.kernel.actor import SYSTEM, Actor

REMEMBERED_MAX: Final = 8192
QUOTED: Final = r'"([a-z_.]+)"'


@dataclass(frozen=True)
class Decision:
    """`policies` are those that decided: what permits it, or what forbids it. None: nothing
    permits it."""

    allowed: bool
    policies: tuple[str, ...]


class Policies:
    """Those of the tree and the operator's own `rules`, all of them checked before.

    The system itself is not bound by rules: what it began for somebody who was permitted to ask
    is not left half done.
    """

    def __init__(self, tree: str, schema: str, rules: str = "") -> None:
        parsed = cedarpy.PolicySet.from_str(tree)
        self._tree = parsed.to_pst().static_policies
        self._all = parsed.with_added_str(rules).to_pst().static_policies if rules else self._tree
        self._names = {id: policy.annotations["id"] for id, policy in self._all.items()}
        self._groups = groups(schema)
        self._about: dict[tuple[str, bool], cedarpy.PolicySet] = {}
        self._answers: dict[tuple[object, ...], Decision] = {}
        texts = f"{tree}\0{schema}\0{rules}".encode()
        self.revision: Final = hashlib.sha256(texts).hexdigest()[:12]

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
        deed = questions.deed(action, self._groups.get(action, ()))
        thing = f"[{questions.thing(resource)}]"
        asked = questions.request(actor, action, resource)
        policies = self._applicable(action, is_system=actor.role == SYSTEM.role)
        denied: list[str] = []
        for grants in questions.principals(actor):
            known = _asking(questions.asker(actor, grants), deed).with_added_json_str(thing)
            answer = cedarpy.is_authorized(asked, policies, known)
            failed = answer.diagnostics.errors
            if answer.allowed and not failed:
                return Decision(True, self._named(answer.diagnostics.reasons))
            denied += self._named(answer.diagnostics.reasons if not failed else _blamed(failed))
        return Decision(False, tuple(dict.fromkeys(denied)))

    def _applicable(self, action: str, *, is_system: bool) -> cedarpy.PolicySet:
        """Without those that are about other actions, which cost time to find that out again."""
        found = self._about.get((action, is_system))
        if found is None:
            within = {action, *self._groups.get(action, ())}
            policies = self._tree if is_system else self._all
            about = {id: p for id, p in policies.items() if _is_about(p.action, within)}
            nodes = pst.PolicySet(templates={}, static_policies=about, template_links=())
            found = self._about[action, is_system] = cedarpy.PolicySet.from_pst(nodes)
        return found

    def _named(self, ids: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(self._names.get(id, id) for id in ids))


def _is_about(constraint: pst.ActionConstraint, within: Collection[str]) -> bool:
    match constraint:
        case pst.ActionEq(entity):
            return entity.id in within
        case pst.ActionIn(entities):
            return any(entity.id in within for entity in entities)
        case _:
            return True


def _blamed(errors: Iterable[str]) -> set[str]:
    """The policies that could not be evaluated. Cedar leaves those out, and one of them may be what
    would forbid: so they deny."""
    return set(re.findall(r"policy `([^`]*)`", " ".join(errors)))


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
