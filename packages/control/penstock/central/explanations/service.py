"""Who may do what, and why. The caller owns the transaction."""

import difflib
from dataclasses import replace

from penstock.central.access import authorization
from penstock.central.access.authorization import IN_FORCE, Resource, authorize
from penstock.central.access.engine import Policies
from penstock.central.access.roles import LEVELS, WITHIN_A_TENANT, Level
from penstock.central.explanations import store
from penstock.central.explanations.model import Explanation, Need
from penstock.central.explanations.targets import target
from penstock.kernel.actor import NO_ROLE, Actor, Grant
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid, NotFound


async def explain(
    tx: Tx, asker: Actor, *, action: str, resource: str | None, actor: str | None
) -> Explanation:
    """Of oneself, or of another as an admin. About nothing that the asker may not see."""
    if action not in authorization.ACTIONS:
        raise Invalid(
            f"action: there is no action {action[:64]!r}",
            code="unknown_action",
            suggestion=_instead(action),
        )
    authorize(asker, "access.view", Resource("access", None, asker.tenant_id))
    someone = asker if actor in (None, asker.id) else await _someone(tx, asker, str(actor))
    about = await target(tx, asker, action, resource, someone)
    policies = IN_FORCE.policies
    decision = policies.decide(someone, action, about)
    return Explanation(
        someone.id,
        action,
        about.id or about.path[0],
        decision.allowed,
        decision.policies,
        () if decision.allowed else tuple(_needed(policies, someone, action, about)),
        policies.revision,
    )


def _instead(action: str) -> str:
    """Those that look like it; else those of the same noun; else which nouns there are."""
    known = sorted(authorization.ACTIONS)
    close = difflib.get_close_matches(action, known, n=3)
    if close:
        return f"did you mean {' or '.join(close)}?"
    noun = action.partition(".")[0]
    if same := [name for name in known if name.partition(".")[0] == noun]:
        return f"those of {noun} are {', '.join(same)}"
    nouns = sorted({name.partition(".")[0] for name in known})
    return f"an action is a noun and a verb, such as project.view; nouns are {', '.join(nouns)}"


async def _someone(tx: Tx, asker: Actor, id: str) -> Actor:
    found = await store.find(tx, id)
    if found is None:
        raise NotFound("actor", id)
    where = Resource(found.kind, found.id, found.tenant_id)
    if not authorization.permits(asker, f"{found.kind}.view", where):
        raise NotFound("actor", id)
    authorize(asker, "access.explain", where)
    return found


def _needed(policies: Policies, actor: Actor, action: str, about: Resource) -> list[Need]:
    """Each role that would do, if it were the only one, where the actor can have it."""
    bare = replace(actor, role=NO_ROLE, scopes=None, grants=frozenset())
    needs: list[Need] = []
    for role, levels in LEVELS.items():
        for level, place in about.levels.items():
            if level in levels and _can_have(actor, level, about):
                granted = replace(bare, grants=frozenset({Grant(role, level, place)}))
                if policies.permit(granted, action, about):
                    needs.append(Need(role, level, place))
    return needs


def _can_have(actor: Actor, level: Level, about: Resource) -> bool:
    """Tenants' people have roles in their tenant, the platform's elsewhere."""
    if actor.tenant_id is None:
        return level not in WITHIN_A_TENANT
    return level in WITHIN_A_TENANT and about.tenant_id == actor.tenant_id
