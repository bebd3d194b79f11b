"""Slots over HTTP, as far as leases are concerned: it is a lease whose cleanup is asked for."""

from fastapi import APIRouter

from penstock.central.allocations import release
from penstock.central.slots import service
from penstock.central.slots.api import SlotView
from penstock.kernel.http.web import Caller, Tx, TxRoute

router = APIRouter(prefix="/v1/slots", tags=["slots"], route_class=TxRoute)


@router.post("/{id}/cleanup", status_code=202)
async def retry_cleanup(id: str, actor: Caller, tx: Tx) -> SlotView:
    """Ask the node again to clean a slot whose cleanup is not proven."""
    slot = await service.get(tx, actor, id)
    await release.retry_cleanup(tx, actor, slot)
    return SlotView.of(await service.get(tx, actor, id))
