"""Organizations over HTTP."""

from datetime import datetime

from fastapi import APIRouter

from penstock.central.organizations import service
from penstock.central.organizations.model import Organization
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View
from penstock.kernel.names import Name, Reference

router = APIRouter(prefix="/v1/organizations", tags=["organizations"], route_class=TxRoute)


class NewOrganization(Body):
    name: Name
    tenant: Reference | None = None


class OrganizationView(View):
    id: str
    tenant: str
    name: str
    created_at: datetime

    @classmethod
    def of(cls, organization: Organization) -> "OrganizationView":
        return cls(
            id=organization.id,
            tenant=organization.tenant_id,
            name=organization.name,
            created_at=organization.created_at,
        )


@router.get("")
async def list_organizations(actor: Caller, tx: Tx, paging: PageQuery) -> Page[OrganizationView]:
    """Organizations you may see."""
    rows = await service.page(tx, actor, paging.after, paging.fetch)
    return paging.page(rows, OrganizationView.of, lambda organization: organization.id)


@router.post("", status_code=201)
async def create_organization(body: NewOrganization, actor: Caller, tx: Tx) -> OrganizationView:
    """Create an organization in your tenant (or, as the platform, in the one you name)."""
    made = await service.create(tx, actor, name=body.name, tenant=body.tenant)
    return OrganizationView.of(made)


@router.get("/{id}")
async def get_organization(id: str, actor: Caller, tx: Tx) -> OrganizationView:
    """One organization, by id or by name."""
    return OrganizationView.of(await service.get(tx, actor, id))
