"""Disputes over HTTP."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, Field

from penstock.central.disputes import service
from penstock.central.disputes.model import Dispute, Edge
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View
from penstock.kernel.names import Text

router = APIRouter(prefix="/v1/disputes", tags=["usage"], route_class=TxRoute)


class Settlement(Body):
    at: Annotated[AwareDatetime, Field(strict=False)] | None = None  # null: what counts already
    reason: Annotated[Text, Field(min_length=1)]


class DisputeView(View):
    id: str
    allocation: str
    tenant: str
    project: str
    site: str
    edge: Edge
    reported_at: datetime | None
    earliest_at: datetime
    latest_at: datetime
    counted_at: datetime
    reason: str
    opened_at: datetime
    settled_at: datetime | None
    settled_by: str
    settled_reason: str

    @classmethod
    def of(cls, dispute: Dispute) -> "DisputeView":
        return cls(
            id=dispute.id,
            allocation=dispute.allocation_id,
            tenant=dispute.tenant_id,
            project=dispute.project_id,
            site=dispute.site_id,
            edge=dispute.edge,
            reported_at=dispute.reported_at,
            earliest_at=dispute.earliest_at,
            latest_at=dispute.latest_at,
            counted_at=dispute.counted_at,
            reason=dispute.reason,
            opened_at=dispute.opened_at,
            settled_at=dispute.settled_at,
            settled_by=dispute.settled_by,
            settled_reason=dispute.settled_reason,
        )


@router.get("")
async def list_disputes(
    actor: Caller,
    tx: Tx,
    paging: PageQuery,
    settled: Annotated[bool | None, Query()] = None,
) -> Page[DisputeView]:
    """Times of usage that a site reported and that cannot be."""
    rows = await service.page(tx, actor, settled=settled, after=paging.after, limit=paging.fetch)
    return paging.page(rows, DisputeView.of, lambda dispute: dispute.id)


@router.get("/{id}")
async def get_dispute(id: str, actor: Caller, tx: Tx) -> DisputeView:
    """What the site said, what could be, and what counts."""
    return DisputeView.of(await service.get(tx, actor, id))


@router.post("/{id}/settle")
async def settle_dispute(id: str, body: Settlement, actor: Caller, tx: Tx) -> DisputeView:
    """Decide which time counts, within what could be. The usage, what it cost and a prepaid
    balance follow."""
    settled = await service.settle(tx, actor, id, at=body.at, reason=body.reason)
    return DisputeView.of(settled)
