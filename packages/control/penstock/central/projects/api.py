"""Projects over HTTP."""

from datetime import datetime

from fastapi import APIRouter

from penstock.central.projects import service
from penstock.central.projects.model import Project
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View
from penstock.kernel.names import Name, Reference

router = APIRouter(prefix="/v1/projects", tags=["projects"], route_class=TxRoute)


class NewProject(Body):
    name: Name
    tenant: Reference | None = None
    organization: Reference | None = None


class ProjectView(View):
    id: str
    tenant: str
    organization: str
    name: str
    created_at: datetime

    @classmethod
    def of(cls, project: Project) -> "ProjectView":
        return cls(
            id=project.id,
            tenant=project.tenant_id,
            organization=project.organization_id,
            name=project.name,
            created_at=project.created_at,
        )


@router.get("")
async def list_projects(actor: Caller, tx: Tx, paging: PageQuery) -> Page[ProjectView]:
    """Projects you may see."""
    rows = await service.page(tx, actor, paging.after, paging.fetch)
    return paging.page(rows, ProjectView.of, lambda project: project.id)


@router.post("", status_code=201)
async def create_project(body: NewProject, actor: Caller, tx: Tx) -> ProjectView:
    """Create a project in your tenant (or, as the platform, in the one you name)."""
    project = await service.create(
        tx, actor, name=body.name, tenant=body.tenant, organization=body.organization
    )
    return ProjectView.of(project)


@router.get("/{id}")
async def get_project(id: str, actor: Caller, tx: Tx) -> ProjectView:
    """One project, by id or by name."""
    return ProjectView.of(await service.get(tx, actor, id))
