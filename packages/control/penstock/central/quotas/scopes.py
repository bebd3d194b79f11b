"""From what a caller names (a tenant, an organization or a project) to a scope."""

from penstock.central.organizations import service as organizations
from penstock.central.projects import service as projects
from penstock.central.quotas.model import Level, Scope
from penstock.central.tenants import service as tenants
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid


async def find(
    tx: Tx,
    actor: Actor,
    *,
    tenant: str | None = None,
    organization: str | None = None,
    project: str | None = None,
) -> Scope:
    """The one that is named; the actor's own tenant if none is.

    Whoever uses it asks whether the actor may: finance sees quotas of projects, not projects.
    """
    named = [name for name in (tenant, organization, project) if name is not None]
    if len(named) > 1:
        raise Invalid("name one of tenant, organization and project, not several")
    if project is not None:
        found = await projects.meant(tx, actor, project)
        return Scope(Level.PROJECT, found.id, found.tenant_id, found.organization_id, project)
    if organization is not None:
        part = await organizations.meant(tx, actor, organization)
        return Scope(Level.ORGANIZATION, part.id, part.tenant_id, part.id, organization)
    whole = tenant or actor.tenant_id
    if whole is None:
        raise Invalid("name a tenant, an organization or a project; you belong to no tenant")
    id = (await tenants.get(tx, actor, whole)).id
    return Scope(Level.TENANT, id, id)
