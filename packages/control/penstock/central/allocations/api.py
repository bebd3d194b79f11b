"""Allocations over HTTP. Asking for one, and why it is where it is: `placement/api.py`."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from penstock.central.allocations import abandonment, release, service
from penstock.central.allocations.model import Status
from penstock.central.allocations.views import AllocationView
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute
from penstock.kernel.names import Text

router = APIRouter(prefix="/v1/allocations", tags=["allocations"], route_class=TxRoute)


@router.get("")
async def list_allocations(
    actor: Caller,
    tx: Tx,
    paging: PageQuery,
    project: Annotated[str | None, Query(max_length=64)] = None,
    status: Status | None = None,
) -> Page[AllocationView]:
    """Leases you may see, all or those with one status. A gang is one lease, under its first id."""
    rows = await service.page(
        tx, actor, project=project, status=status, after=paging.after, limit=paging.fetch
    )
    return paging.page(
        rows, lambda row: AllocationView.of(row, tx.now, actor), lambda row: row.allocation.id
    )


@router.get("/{id}")
async def get_allocation(id: str, actor: Caller, tx: Tx) -> AllocationView:
    """One lease, its four states side by side; or, by its own id, one member of a gang."""
    return AllocationView.of(await service.lease(tx, actor, id), tx.now, actor)


@router.get("/{id}/timeline")
async def get_timeline(id: str, actor: Caller, tx: Tx) -> Page[dict[str, object]]:
    """Everything that happened to a lease, in order."""
    happened = await service.timeline(tx, actor, id)
    return Page(items=[event.envelope() for event in happened])


@router.post("/{id}/release", status_code=202)
async def release_allocation(id: str, actor: Caller, tx: Tx) -> AllocationView:
    """Give the GPUs back. Returns at once; watch `status` for `released`.

    One that is `queued` is cancelled: it is `released` at once. A gang is released whole, by
    whichever of its ids.
    """
    released = await release.release(tx, actor, id)
    return AllocationView.of(await service.shown(tx, released), tx.now, actor)


class Abandonment(Body):
    reason: Annotated[Text, Field(min_length=1, description="Its tenant reads it.")]


@router.post("/{id}/abandon", status_code=202)
async def abandon_allocation(id: str, body: Abandonment, actor: Caller, tx: Tx) -> AllocationView:
    """Give up a release that cannot end, because the node does not prove cleanup.

    The tenant's quota is returned; the slots stay blocked until their cleanup is proven. Of a
    gang, each member is given up by its own id.
    """
    abandoned = await abandonment.abandon(tx, actor, id, body.reason)
    return AllocationView.of(await service.shown(tx, abandoned), tx.now, actor)
