"""What may be done to a project. The caller owns the transaction."""

from collections.abc import Collection

from penstock.central.access.authorization import (
    Resource,
    authorize,
    authorize_list,
    permits,
    reach,
)
from penstock.central.organizations import service as organizations
from penstock.central.projects import store
from penstock.central.projects.model import Project
from penstock.central.tenants import service as tenants
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid, NotFound
from penstock.kernel.questions import Question, ask
from penstock_contracts.ids import ProjectId, TenantId


async def create(
    tx: Tx, actor: Actor, *, name: str, tenant: str | None, organization: str | None = None
) -> Project:
    """A project of the tenant, in its organization `default` unless another is named."""
    reference = tenant or actor.tenant_id
    if reference is None:
        raise Invalid("tenant: say which tenant the project is for; you belong to none")
    whole = await tenants.get(tx, actor, reference)
    owner = whole.id
    if not reach(actor, "project", verb="create"):
        authorize(actor, "project.create", Resource("project", None, owner, status=whole.status))
    within = await organizations.of_tenant(tx, owner, organization)
    if not permits(actor, "organization.view", organizations.resource(within)):
        raise organizations.unknown(owner, organization)
    authorize(
        actor, "project.create", Resource("project", None, owner, within.id, status=whole.status)
    )
    project = Project(ProjectId.new(), owner, within.id, name, tx.now)
    await store.add(tx, project)
    audit.record(
        tx, actor, "project.create", project.id, tenant_id=owner,
        name=name, organization=within.id,
    )  # fmt: skip
    events.emit(
        tx, "project.created", project.id, tenant_id=owner, name=name, organization=within.id
    )
    return project


async def get(tx: Tx, actor: Actor, reference: str) -> Project:
    return pick(await find(tx, [reference], {actor.tenant_id}), actor, reference)


async def meant(tx: Tx, actor: Actor, reference: str) -> Project:
    """The one that the actor means. Whether it may know of it is for the caller to ask."""
    return _mine(await find(tx, [reference], {actor.tenant_id}), actor, reference)


def named_so(
    references: list[str], tenants: Collection[TenantId | None]
) -> Question[list[Project]]:
    """By id, whoever's they are, or by a name in these tenants (None: in all). `pick` says
    which one an actor means."""
    within = None if None in tenants else [tenant for tenant in tenants if tenant is not None]
    return store.meant(references, within)


async def find(
    tx: Tx, references: list[str], tenants: Collection[TenantId | None]
) -> list[Project]:
    return await ask(tx, named_so(references, tenants))


async def named(tx: Tx, tenant_id: TenantId, name: str) -> Project | None:
    """For the system, which sees all."""
    found = await find(tx, [name], [tenant_id])
    return next((p for p in found if (p.tenant_id, p.name) == (tenant_id, name)), None)


def resource(project: Project) -> Resource:
    return Resource("project", project.id, project.tenant_id, project.organization_id, project.id)


def pick(found: list[Project], actor: Actor, reference: str) -> Project:
    """The one project that the actor means by an id or a name, if it may see it."""
    project = _mine(found, actor, reference)
    authorize(actor, "project.view", resource(project), asked=reference)
    return project


def _mine(found: list[Project], actor: Actor, reference: str) -> Project:
    named = [p for p in found if reference in (p.id, p.name)]
    mine = [p for p in named if actor.tenant_id in (None, p.tenant_id)]
    if len(mine) > 1:
        raise Invalid(f"project: {reference!r} names projects of several tenants; use the id")
    if not mine:
        raise NotFound("project", reference)
    return mine[0]


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[Project]:
    return await store.page(tx, authorize_list(actor, "project"), after, limit)


async def forget(tx: Tx, tenant_id: TenantId) -> None:
    """All of a tenant that never came to be."""
    await store.forget(tx, tenant_id)
