"""From an id to what is acted on: as far as the asker may see it."""

from penstock.central.access.authorization import Resource
from penstock.central.allocations import service as allocations
from penstock.central.nodes import service as nodes
from penstock.central.organizations import service as organizations
from penstock.central.projects import service as projects
from penstock.central.sites import service as sites
from penstock.central.slots import service as slots
from penstock.central.tenants import service as tenants
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid
from penstock_contracts.ids import (
    AllocationId,
    NodeId,
    OrganizationId,
    ProjectId,
    SiteId,
    SlotId,
    TenantId,
)


async def target(tx: Tx, asker: Actor, action: str, id: str | None, someone: Actor) -> Resource:
    """What has the id; without one, the whole tenant (or platform) of the one who would act."""
    if id is None:
        return Resource(action.partition(".")[0], None, someone.tenant_id)
    match id.rpartition("_")[0]:
        case TenantId.prefix:
            tenant = await tenants.get(tx, asker, id)
            return Resource("tenant", tenant.id, tenant.id)
        case OrganizationId.prefix:
            return organizations.resource(await organizations.get(tx, asker, id))
        case ProjectId.prefix:
            return projects.resource(await projects.get(tx, asker, id))
        case AllocationId.prefix:
            return allocations.resource(await allocations.get(tx, asker, id))
        case SiteId.prefix:
            site = await sites.get(tx, asker, id)
            return Resource("site", site.id, site_id=site.id)
        case NodeId.prefix:
            return nodes.resource(await nodes.get(tx, asker, id))
        case SlotId.prefix:
            slot = await slots.get(tx, asker, id)
            return await slots.resource(tx, slot.node_id, slot.id)
        case _:
            raise Invalid(
                f"resource: {id[:64]!r} is not the id of a tenant, an organization, a project, "
                "an allocation, a site, a node or a slot"
            )
