"""From an id or a name to what is acted on: as far as the asker may see it."""

from contextlib import suppress

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
from penstock.kernel.errors import Invalid, NotFound
from penstock_contracts.ids import (
    AllocationId,
    NodeId,
    OrganizationId,
    ProjectId,
    SiteId,
    SlotId,
    TenantId,
    is_id,
)


async def target(tx: Tx, asker: Actor, action: str, id: str | None, someone: Actor) -> Resource:
    """What has the id or the name; without one, the whole tenant (or platform) of the one who
    would act."""
    noun = action.partition(".")[0]
    if id is None:
        return Resource(noun, None, someone.tenant_id)
    if not is_id(id) and (named := await _named(tx, asker, noun, id)):
        return named
    return await _with_id(tx, asker, id)


async def _named(tx: Tx, asker: Actor, noun: str, name: str) -> Resource | None:
    """The one thing that the asker sees under this name; of several, the one that the action is
    about."""
    found: list[Resource] = []
    for prefix in (ProjectId.prefix, OrganizationId.prefix, TenantId.prefix, SiteId.prefix):
        with suppress(NotFound):
            found.append(await _of_kind(tx, asker, prefix, name))
    meant = [each for each in found if each.noun == noun] or found
    if len(meant) > 1:
        raise Invalid(
            f"resource: {name!r} is the name of {' and of '.join(_a(r.noun) for r in meant)}; "
            "use the id"
        )
    return meant[0] if meant else None


def _a(noun: str) -> str:
    return f"an {noun}" if noun == "organization" else f"a {noun}"


async def _with_id(tx: Tx, asker: Actor, id: str) -> Resource:
    return await _of_kind(tx, asker, id.rpartition("_")[0], id)


async def _of_kind(tx: Tx, asker: Actor, prefix: str, id: str) -> Resource:
    match prefix:
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
                "an allocation, a site, a node or a slot, nor a name of the first three or of a "
                "site that you see"
            )
