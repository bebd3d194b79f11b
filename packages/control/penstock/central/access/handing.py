"""Power that is handed on keeps its conditions. One rule for every door.

Whatever an act lets somebody do (a role that is bound, a key, a way to a password, a group that is
joined) is let under at least the conditions of one of the roles by which the act is permitted. So
no chain of grants leads to more than its first giver had.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from penstock.central.access import conditions, questions
from penstock.central.access.authorization import permits
from penstock.central.access.resources import Resource
from penstock.central.access.roles import Level, Role
from penstock.kernel.actor import NO_ROLE, SYSTEM, Actor, Conditions, Grant
from penstock.kernel.errors import Forbidden
from penstock_contracts.ids import TenantId

# What to do instead, by how the power would have been given.
BOUND: Final = "give it with these, or with more: {}"
TOP: Final = (
    "a role in the whole tenant has no conditions: give `none`, then `penstock role bind` {}"
)
THEIRS: Final = "ask an admin whose role does not have these conditions: {}"


def refuse_wider(
    actor: Actor, action: str, resource: Resource, given: Iterable[Grant], instead: str
) -> None:
    """Raise unless the actor, who may act so, may also give each of these by it.

    `instead` is one of BOUND, TOP and THEIRS.
    """
    bounds = _bounds(actor, action, resource)
    for grant in sorted(given, key=lambda each: (each.role, each.place)):
        if not any(conditions.within(grant.conditions, bound) for bound in bounds):
            raise _refusal(action, grant, bounds, instead)


def top(role: str | None, tenant_id: TenantId) -> list[Grant]:
    """What a role in the whole tenant gives: nothing, if it is none."""
    return [] if role in (None, NO_ROLE) else [Grant(str(role), Level.TENANT, tenant_id)]


def everything(tenant_id: TenantId) -> list[Grant]:
    """What one has who can become anyone of a tenant."""
    return top(Role.ADMIN, tenant_id)


def _bounds(actor: Actor, action: str, resource: Resource) -> list[Conditions]:
    """The conditions under which the actor may act so, of each role that permits it by itself."""
    if actor.role == SYSTEM.role:
        return [()]  # what it does for somebody was asked when they began it
    found: list[Conditions] = []
    for grants in questions.principals(actor):
        alone = replace(actor, role=NO_ROLE, grants=grants)
        if permits(alone, action, resource):
            found += {grant.conditions for grant in grants} or {()}
    return found


def _refusal(action: str, grant: Grant, bounds: list[Conditions], instead: str) -> Forbidden:
    needed = " or ".join(conditions.options(bound) for bound in bounds)
    return Forbidden(
        f"your role permits {action} only under conditions ({needed}), and {grant.role} at "
        f"{grant.level} {grant.place} would count without them: nobody gives more than they have",
        code="conditions_missing",
        suggestion=instead.format(needed),
    )
