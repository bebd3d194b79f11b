"""From what a caller names (a tenant, an organization, a project, a site) to a place."""

from dataclasses import dataclass

from penstock.central.access.authorization import Resource
from penstock.central.access.roles import PLATFORM, Level
from penstock.central.bindings.model import Binding
from penstock.central.organizations import service as organizations
from penstock.central.projects import service as projects
from penstock.central.sites import service as sites
from penstock.central.tenants import service as tenants
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid


@dataclass(frozen=True)
class Named:
    """At most one of them is; none: the actor's own tenant, or the platform."""

    tenant: str | None = None
    organization: str | None = None
    project: str | None = None
    site: str | None = None


@dataclass(frozen=True)
class Place:
    level: Level
    id: str
    resource: Resource  # the place itself, as something that is acted on


async def find(tx: Tx, actor: Actor, named: Named) -> Place:
    """Whoever uses it asks whether the actor may."""
    given = [n for n in (named.tenant, named.organization, named.project, named.site) if n]
    if len(given) > 1:
        raise Invalid("name one of tenant, organization, project and site, not several")
    if named.project is not None:
        project = await projects.meant(tx, actor, named.project)
        return Place(Level.PROJECT, project.id, projects.resource(project))
    if named.organization is not None:
        part = await organizations.meant(tx, actor, named.organization)
        return Place(Level.ORGANIZATION, part.id, organizations.resource(part))
    if named.site is not None:
        site = await sites.get(tx, actor, named.site)
        return Place(Level.SITE, site.id, Resource("site", site.id, site_id=site.id))
    whole = named.tenant or actor.tenant_id
    if whole is None:
        return Place(Level.PLATFORM, PLATFORM, Resource(PLATFORM))
    tenant = await tenants.get(tx, actor, whole)
    return Place(Level.TENANT, tenant.id, Resource("tenant", tenant.id, tenant.id))


def of(binding: Binding) -> Resource:
    """A binding is where it counts."""
    return Resource(
        "role",
        binding.id,
        binding.tenant_id,
        binding.organization_id,
        binding.scope_id if binding.scope == Level.PROJECT else None,
        binding.scope_id if binding.scope == Level.SITE else None,
        role=binding.role,
    )
