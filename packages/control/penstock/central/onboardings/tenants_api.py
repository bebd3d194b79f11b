"""Making a tenant over HTTP, without an onboarding."""

from fastapi import APIRouter

from penstock.central.onboardings import founding
from penstock.central.tenants.api import TenantView
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute
from penstock.kernel.names import Name

router = APIRouter(prefix="/v1/tenants", tags=["tenants"], route_class=TxRoute)


class NewTenant(Body):
    name: Name


@router.post("", status_code=201)
async def create_tenant(body: NewTenant, actor: Caller, tx: Tx) -> TenantView:
    """Create a tenant, with its organization `default`."""
    return TenantView.of(await founding.create(tx, actor, name=body.name))
