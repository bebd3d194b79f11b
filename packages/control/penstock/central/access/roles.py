"""The roles there are, and where each may be bound. `policies.cedar` says what they may do."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal

from penstock.kernel.actor import NO_ROLE, Actor, Grant

PLATFORM: Final = "platform"  # the id of the place that everything is in


class Level(StrEnum):
    PLATFORM = "platform"
    SITE = "site"
    TENANT = "tenant"
    ORGANIZATION = "organization"
    PROJECT = "project"


class Role(StrEnum):
    PLATFORM_ADMIN = "platform_admin"
    PLATFORM_AUDITOR = "platform_auditor"  # sees everything, changes nothing
    SITE_OPERATOR = "site_operator"  # nodes and slots of its sites
    SUPPLIER = "supplier"  # sees its own sites, nodes and slots
    ADMIN = "admin"  # of a tenant, as a whole
    ORG_ADMIN = "org_admin"
    PROJECT_ADMIN = "project_admin"
    MEMBER = "member"  # leases and releases
    VIEWER = "viewer"
    FINANCE = "finance"  # usage, balances and quotas


WITHIN_A_TENANT: Final = frozenset({Level.TENANT, Level.ORGANIZATION, Level.PROJECT})
LEVELS: Final[Mapping[Role, frozenset[Level]]] = {
    Role.PLATFORM_ADMIN: frozenset({Level.PLATFORM}),
    Role.PLATFORM_AUDITOR: frozenset({Level.PLATFORM}),
    Role.SITE_OPERATOR: frozenset({Level.PLATFORM, Level.SITE}),
    Role.SUPPLIER: frozenset({Level.SITE}),
    Role.ADMIN: frozenset({Level.TENANT}),
    Role.ORG_ADMIN: frozenset({Level.ORGANIZATION}),
    Role.PROJECT_ADMIN: frozenset({Level.PROJECT}),
    Role.MEMBER: WITHIN_A_TENANT,
    Role.VIEWER: WITHIN_A_TENANT,
    Role.FINANCE: WITHIN_A_TENANT | {Level.PLATFORM},
}
# What a user or a tenant's key has in all of the tenant. `none`: only what bindings give.
TenantRole = Literal["admin", "member", "viewer", "finance", "none"]


def held(actor: Actor) -> frozenset[Grant]:
    """All that the actor may rely on: its role at the top, and what it was granted."""
    if actor.role == NO_ROLE:
        return actor.grants
    return actor.grants | {top(actor)}


def top(actor: Actor) -> Grant:
    """The actor's role, as a grant in all of its tenant or of the platform."""
    if actor.tenant_id is None:
        role = Role.PLATFORM_ADMIN if actor.role == "system" else actor.role
        return Grant(role, Level.PLATFORM, PLATFORM)
    return Grant(actor.role, Level.TENANT, actor.tenant_id)
