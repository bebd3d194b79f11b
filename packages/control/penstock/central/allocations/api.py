"""Allocations over HTTP."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field, field_validator

from penstock.central.allocations import release, service
from penstock.central.allocations.model import Allocation, Status
from penstock.central.allocations.terms import NewTerms
from penstock.central.placement import replaying
from penstock.central.placement.queue import Ask, Queue
from penstock.kernel import idempotency
from penstock.kernel.db import Database
from penstock.kernel.names import Reference
from penstock.kernel.paging import Page, PageQuery
from penstock.kernel.web import BareRoute, Caller, CorrelationId, Tx, TxRoute, View

router = APIRouter(prefix="/v1/allocations", tags=["allocations"], route_class=TxRoute)
# Asking for GPUs opens no transaction of its own: the batch that places it does.
asking = APIRouter(prefix="/v1/allocations", tags=["allocations"], route_class=BareRoute)


class NewAllocation(NewTerms):
    project: Reference
    sku: Reference
    gpus: Annotated[int, Field(ge=1, le=1024)] | None = None
    site: Reference | None = None
    queue: bool = False

    @field_validator("queue")
    @classmethod
    def not_yet(cls, queue: bool) -> bool:
        if queue:
            raise ValueError("waiting for room is not offered yet; ask again when there is some")
        return queue


class State(View):
    """One of the four states, with its age."""

    state: str
    at: datetime | None
    age_s: float | None
    reason: str = ""
    revision: int | None = None
    workflow: str = ""
    step: str = ""
    detail: str = ""


class States(View):
    desired: State
    observed: State
    execution: State
    projected: State


class AllocationView(View):
    id: str
    tenant: str
    project: str
    sku: str
    sku_id: str
    shape: str
    family: str
    gpus: int
    site: str
    node: str
    slots: list[str]
    status: str
    reason: str
    desired: str
    observed: str
    execution: str
    states: States
    price_micros_per_gpu_hour: int
    currency: str
    created_at: datetime
    created_by: str
    correlation_id: str

    @classmethod
    def of(cls, a: Allocation, now: datetime) -> "AllocationView":
        return cls(
            id=a.id,
            tenant=a.tenant_id,
            project=a.project_id,
            sku=a.sku_name,
            sku_id=a.sku_id,
            shape=a.shape,
            family=a.family,
            gpus=a.gpus,
            site=a.site_id,
            node=a.node_id,
            slots=list(a.slot_ids),
            status=a.status,
            reason=a.reason,
            desired=a.desired,
            observed=a.observed,
            execution=a.execution.state,
            states=states(a, now),
            price_micros_per_gpu_hour=a.price_micros_per_gpu_hour,
            currency=a.currency,
            created_at=a.created_at,
            created_by=a.created_by,
            correlation_id=a.correlation_id,
        )


def states(a: Allocation, now: datetime) -> States:
    def age_s(at: datetime | None) -> float | None:
        return None if at is None else max(0.0, (now - at).total_seconds())

    known = [at for at in (a.desired_at, a.observed_at, a.execution.at) if at is not None]
    newest = max(known)
    return States(
        desired=State(
            state=a.desired, at=a.desired_at, age_s=age_s(a.desired_at), revision=a.revision
        ),
        observed=State(
            state=a.observed,
            at=a.observed_at,
            age_s=age_s(a.observed_at),
            reason=a.observed_reason,
        ),
        execution=State(
            state=a.execution.state,
            at=a.execution.at,
            age_s=age_s(a.execution.at),
            workflow=a.execution.workflow,
            step=a.execution.step,
            detail=a.execution.detail,
        ),
        projected=State(state=a.status, at=newest, age_s=age_s(newest), reason=a.reason),
    )


async def _queue(request: Request) -> Queue:
    queue: Queue = request.app.state.placement
    return queue


@asking.post("", status_code=201)
async def create_allocation(
    request: Request,
    response: Response,
    body: NewAllocation,
    actor: Caller,
    correlation_id: CorrelationId,
    queue: Annotated[Queue, Depends(_queue)],
) -> AllocationView:
    """Lease GPUs. Answers once the slots are claimed; watch `status` for `active`."""
    key = idempotency.key_of(request)
    placed = await queue.submit(
        Ask(
            actor=actor,
            project=body.project,
            sku=body.sku,
            gpus=body.gpus,
            site=body.site,
            correlation_id=correlation_id,
            key=key,
            fingerprint=await idempotency.fingerprint(request) if key else b"",
            terms=body.terms(),
        )
    )
    if placed.replayed:
        response.headers["Idempotency-Replayed"] = "true"
    return AllocationView.of(placed.allocation, placed.now)


@router.get("")
async def list_allocations(
    actor: Caller,
    tx: Tx,
    paging: PageQuery,
    project: Annotated[str | None, Query(max_length=64)] = None,
    status: Status | None = None,
) -> Page[AllocationView]:
    """Leases you may see, all or those with one status."""
    rows = await service.page(
        tx, actor, project=project, status=status, after=paging.after, limit=paging.fetch
    )
    return paging.page(rows, lambda row: AllocationView.of(row, tx.now), lambda row: row.id)


@router.get("/{id}")
async def get_allocation(id: str, actor: Caller, tx: Tx) -> AllocationView:
    """One lease, its four states side by side."""
    return AllocationView.of(await service.get(tx, actor, id), tx.now)


@router.get("/{id}/timeline")
async def get_timeline(id: str, actor: Caller, tx: Tx) -> Page[dict[str, object]]:
    """Everything that happened to a lease, in order."""
    happened = await service.timeline(tx, actor, id)
    return Page(items=[event.envelope() for event in happened])


@router.get("/{id}/receipt")
async def get_receipt(id: str, actor: Caller, tx: Tx) -> dict[str, object]:
    """Why it was placed where it is: what it was compared with, and what the rules removed."""
    return await service.receipt(tx, actor, id)


class ReplayView(View):
    """What deciding again leads to, on the fleet as it was."""

    same: bool
    differences: list[str]
    receipt: dict[str, object] | None


@asking.get("/{id}/receipt/replay")
async def replay_receipt(id: str, request: Request, actor: Caller) -> ReplayView:
    """Decide again, on the fleet as it was at that moment, and compare."""
    database: Database = request.app.state.database
    async with database.transaction(tenant=actor.tenant_id) as tx:
        receipt = await service.receipt(tx, actor, id)
    # The fleet's history is no tenant's to see; the answer tells of its own lease.
    async with database.transaction() as tx:
        again = await replaying.replay(tx, receipt)
    return ReplayView(same=again.same, differences=again.differences, receipt=again.receipt)


@router.post("/{id}/release", status_code=202)
async def release_allocation(id: str, actor: Caller, tx: Tx) -> AllocationView:
    """Give the GPUs back. Returns at once; watch `status` for `released`."""
    return AllocationView.of(await release.release(tx, actor, id), tx.now)
