"""Offboarding over HTTP."""

from fastapi import APIRouter

from penstock.central.offboardings import service
from penstock.central.tenants.api import Because, TenantView
from penstock.kernel.http.web import Caller, Tx, TxRoute

router = APIRouter(prefix="/v1/tenants", tags=["tenants"], route_class=TxRoute)


@router.post("/{id}/offboard", status_code=202)
async def offboard_tenant(id: str, body: Because, actor: Caller, tx: Tx) -> TenantView:
    """Release all that the tenant has. It is `offboarded` when every cleanup is proven; its
    networks are returned then. Its name stays taken; audit, usage and balance stay."""
    return TenantView.of(await service.begin(tx, actor, id, body.reason))
