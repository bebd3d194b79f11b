"""The first wall: one question, asked of the policies on every operation."""

from dataclasses import dataclass, replace
from typing import Final

from penstock.central.access import resources
from penstock.central.access.engine import Decision
from penstock.central.access.in_force import ACTIONS, IN_FORCE
from penstock.central.access.resources import Resource
from penstock.central.access.roles import Level, held
from penstock.kernel.actor import NO_ROLE, Actor
from penstock.kernel.errors import Forbidden, NotFound

__all__ = [
    "ACTIONS",
    "IN_FORCE",
    "Reach",
    "Resource",
    "authorize",
    "authorize_fleet",
    "authorize_list",
    "permits",
    "reach",
]

SCOPES: Final = "a-token-does-no-more-than-its-scopes-say"  # which a refusal says at more length

# Of these, `penstock access explain` takes the id.
EXPLAINED: Final = frozenset(
    {"tenant", "organization", "project", "allocation", "site", "node", "slot"}
)


def permits(actor: Actor, action: str, resource: Resource) -> bool:
    return IN_FORCE.policies.permit(actor, action, resource)


def authorize(
    actor: Actor, action: str, resource: Resource, *, seen: str = "", asked: str = ""
) -> None:
    """Return if permitted. What the actor may not even see does not exist for it.

    `seen` is what others who see it may do, besides `noun.view`. `asked` is the name by which
    it was asked for: who may not see it does not learn its id.
    """
    policies = IN_FORCE.policies
    decision = policies.decide(actor, action, resource)
    if decision.allowed:
        return
    views = [f"{resource.noun}.view", *([seen] if seen else [])]
    if resource.id is not None and not any(policies.permit(actor, v, resource) for v in views):
        raise NotFound(resource.noun, asked or resource.id, hidden=True)
    if resource.status and policies.permit(actor, action, replace(resource, status="")):
        raise Forbidden(
            f"tenant {resource.tenant_id} is {resource.status}; {action} must wait until it is "
            "active",
            code=f"tenant_{resource.status}",
            suggestion="`penstock tenant show` says why; the platform's operators can resume it"
            if resource.status == "suspended"
            else None,
        )
    raise _refusal(actor, action, decision, resource.id if resource.noun in EXPLAINED else None)


@dataclass(frozen=True)
class Reach:
    """Where an actor may do something: in the whole of what its transaction sees, or in these."""

    whole: bool
    organizations: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.whole or bool(self.organizations or self.projects or self.sites)


def reach(actor: Actor, noun: str, *, verb: str = "view") -> Reach:
    """What a list of such things may show. Nothing at all: the reach is false."""
    action = f"{noun}.{verb}"
    if permits(actor, action, Resource(noun, None, actor.tenant_id)):
        return Reach(whole=True)
    found: dict[str, list[str]] = {level: [] for level in Level}
    for grant in sorted(held(actor), key=lambda grant: grant.place):
        if permits(actor, action, resources.at(noun, grant, actor.tenant_id)):
            found[grant.level].append(grant.place)
    return Reach(
        False,
        tuple(found[Level.ORGANIZATION]),
        tuple(found[Level.PROJECT]),
        tuple(found[Level.SITE]),
    )


def authorize_list(actor: Actor, noun: str) -> Reach:
    """What a list of such things may show; forbidden to those who see none anywhere."""
    found = reach(actor, noun)
    if not found:
        whole = Resource(noun, None, actor.tenant_id)
        decision = IN_FORCE.policies.decide(actor, f"{noun}.view", whole)
        raise _refusal(actor, f"{noun}.view", decision)
    return found


def authorize_fleet(actor: Actor, noun: str, id: str) -> None:
    """Before the fleet is read, which a tenant's transaction cannot: who sees nothing of it is
    told that there is no such thing. What the others may do is asked once its site is known."""
    if not reach(actor, noun):
        raise NotFound(noun, id)


def _refusal(actor: Actor, action: str, decision: Decision, id: str | None = None) -> Forbidden:
    """In the words of the policies that forbid it, or of the roles that do not permit it."""
    explain = f"`penstock access explain {action}{f' {id}' if id else ''}`"
    forbidding = [repr(name) for name in decision.policies if name != SCOPES]
    if forbidding:
        which = "policy {} forbids" if len(forbidding) == 1 else "policies {} forbid"
        return Forbidden(f"{which.format(', '.join(forbidding))} {action}", suggestion=explain)
    roles = sorted({f"{g.role} at {g.level} {g.place}" for g in actor.grants})
    if actor.role != NO_ROLE or not roles:
        roles.insert(0, repr(actor.role))
    your = f"your role {roles[0]}" if len(roles) == 1 else f"your roles {', '.join(roles)}"
    if actor.scopes is not None:
        scopes = " ".join(sorted(actor.scopes)) or "none"
        return Forbidden(f"{your} and the token's scopes ({scopes}) do not permit {action}")
    verb = "does" if len(roles) == 1 else "do"
    return Forbidden(f"{your} {verb} not permit {action}", suggestion=explain)
