"""The first wall: one question, asked of the policies on every operation."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from penstock.central.access import resources
from penstock.central.access.engine import Policies, PoliciesInvalid, groups
from penstock.central.access.resources import Resource
from penstock.central.access.roles import Level, held
from penstock.kernel.actor import NO_ROLE, Actor
from penstock.kernel.errors import Forbidden, NotFound

__all__ = [
    "POLICIES",
    "PoliciesInvalid",
    "Reach",
    "Resource",
    "authorize",
    "authorize_fleet",
    "authorize_list",
    "permits",
    "reach",
]

FOLDER: Final = Path(__file__).parent


SCHEMA: Final = (FOLDER / "policies.cedarschema").read_text()
ACTIONS: Final = frozenset(name for name, within in groups(SCHEMA).items() if within)


def load() -> Policies:
    """The policies of the tree; refuses to start with broken ones."""
    return Policies((FOLDER / "policies.cedar").read_text(), SCHEMA)


POLICIES: Final = load()


def permits(actor: Actor, action: str, resource: Resource) -> bool:
    return POLICIES.permit(actor, action, resource)


def authorize(actor: Actor, action: str, resource: Resource, *, seen: str = "") -> None:
    """Return if permitted. What the actor may not even see does not exist for it.

    `seen` is what others who see it may do, besides `noun.view`.
    """
    if POLICIES.permit(actor, action, resource):
        return
    views = [f"{resource.noun}.view", *([seen] if seen else [])]
    if resource.id is not None and not any(POLICIES.permit(actor, v, resource) for v in views):
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
    raise _refusal(actor, action)


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
        raise _refusal(actor, f"{noun}.view")
    return found


def authorize_fleet(actor: Actor, noun: str, id: str) -> None:
    """Before the fleet is read, which a tenant's transaction cannot: who sees nothing of it is
    told that there is no such thing. What the others may do is asked once its site is known."""
    if not reach(actor, noun):
        raise NotFound(noun, id)


def _refusal(actor: Actor, action: str) -> Forbidden:
    roles = sorted({f"{g.role} at {g.level} {g.place}" for g in actor.grants})
    if actor.role != NO_ROLE or not roles:
        roles.insert(0, repr(actor.role))
    your = f"your role {roles[0]}" if len(roles) == 1 else f"your roles {', '.join(roles)}"
    if actor.scopes is not None:
        scopes = " ".join(sorted(actor.scopes)) or "none"
        return Forbidden(f"{your} and the token's scopes ({scopes}) do not permit {action}")
    verb = "does" if len(roles) == 1 else "do"
    return Forbidden(
        f"{your} {verb} not permit {action}", suggestion=f"`penstock access explain {action}`"
    )
