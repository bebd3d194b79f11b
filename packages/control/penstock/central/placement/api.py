"""Asking for GPUs over HTTP, and why they are where they are."""

from typing import Annotated, Final

from fastapi import APIRouter, Request, Response
from pydantic import AwareDatetime, Field

from penstock.central.access.keys import Held
from penstock.central.allocations import views
from penstock.central.allocations.gangs import NODES_MAX
from penstock.central.allocations.terms import NewTerms
from penstock.central.allocations.views import AllocationView
from penstock.central.allocations.wait import PRIORITY_DEFAULT
from penstock.central.placement import receipts, replaying
from penstock.central.placement.queue import QUEUE_FOR_S_DEFAULT, Ask, Queue
from penstock.kernel.actor import Actor
from penstock.kernel.db import Database
from penstock.kernel.http import idempotency, reasons
from penstock.kernel.http.web import (
    BareRoute,
    Caller,
    LeanRoute,
    Tx,
    TxRoute,
    View,
    refuse_unknown_parameters,
)
from penstock.kernel.names import Reference

router = APIRouter(prefix="/v1/allocations", tags=["allocations"], route_class=TxRoute)
QUEUE_FOR_S_MAX: Final = 90 * 86_400
# Asking for GPUs opens no transaction of its own: the batch that places it does.
asking = APIRouter(prefix="/v1/allocations", tags=["allocations"], route_class=BareRoute)


class NewAllocation(NewTerms):
    project: Reference
    sku: Reference
    gpus: Annotated[int, Field(ge=1, le=1024)] | None = None
    nodes: Annotated[
        int,
        Field(
            ge=1, le=NODES_MAX,
            description="How many whole nodes, all of them or none: one lease, at one site, on as "
            "few leaves of the fabric as can be. More than one only of a SKU of whole nodes.",
        ),
    ] = 1  # fmt: skip
    site: Reference | None = None
    queue: Annotated[
        bool, Field(description="Wait for room if there is none now, instead of being refused.")
    ] = False
    queue_for_s: Annotated[
        int, Field(ge=1, le=QUEUE_FOR_S_MAX, description="Wait no longer than that.")
    ] = QUEUE_FOR_S_DEFAULT
    priority: Annotated[
        int, Field(ge=0, le=100, description="Higher goes first. Above 50 needs a permission.")
    ] = PRIORITY_DEFAULT
    ends_at: (
        Annotated[
            AwareDatetime,
            Field(
                strict=False,
                description="When it is to be released: it is, then, if you have not done so "
                "before. `allocation.ending` warns of it. One that is still `queued` expires.",
            ),
        ]
        | None
    ) = None


class AskingRoute(LeanRoute):
    """Whose key was seen before is not asked for first: the batch asks whether it still holds."""

    async def respond(self, request: Request) -> Response:
        held: Held | None = request.app.state.recall(request)
        if held is None:
            return await super().respond(request)
        refuse_unknown_parameters(request, frozenset())
        request.state.actor, request.state.credential = held.actor, held.hash
        try:
            return await self.answer(request)
        except Exception:
            # It is refused to whom it is, and to nobody else.
            del request.state.actor
            request.state.actor = await self.authenticate(request)
            raise


async def create_allocation(request: Request, body: NewAllocation) -> Response:
    """Lease GPUs. Answers once the slots are claimed; watch `status` for `active`.

    With `queue`, what cannot be placed now waits: `status` is `queued`, `estimate` says for what.
    """
    queue: Queue = request.app.state.placement
    actor: Actor = request.state.actor
    key = idempotency.key_of(request)
    answer = await queue.submit(
        Ask(
            actor=actor,
            project=body.project,
            sku=body.sku,
            gpus=body.gpus,
            nodes=body.nodes,
            site=body.site,
            correlation_id=request.state.correlation_id,
            key=key,
            fingerprint=await idempotency.fingerprint(request) if key else b"",
            terms=body.terms(),
            queue=body.queue,
            queue_for_s=body.queue_for_s,
            priority=body.priority,
            ends_at=body.ends_at,
            reason=reasons.of(request),
            credential=getattr(request.state, "credential", b""),
            patience=request.state.patience,
        )
    )
    replayed = {"Idempotency-Replayed": "true"} if answer.replayed else {}
    return Response(
        views.as_json(answer.lease, answer.now, actor), 201, replayed, "application/json"
    )


asking.add_api_route(
    "", create_allocation, methods=["POST"], status_code=201, response_model=AllocationView,
    route_class_override=AskingRoute, openapi_extra={"x-refusals": ["402"]},
)  # fmt: skip


@router.get("/{id}/receipt")
async def get_receipt(id: str, actor: Caller, tx: Tx) -> dict[str, object]:
    """Why it was placed where it is: what it was compared with, and what the rules removed."""
    return await receipts.get(tx, actor, id)


class ReplayView(View):
    """What deciding again leads to, on the fleet as it was."""

    same: bool
    differences: list[str]
    receipt: dict[str, object] | None


@asking.get("/{id}/receipt/replay", openapi_extra={"x-refusals": ["410"]})
async def replay_receipt(id: str, request: Request, actor: Caller) -> ReplayView:
    """Decide again, on the fleet as it was at that moment, and compare.

    410 `fleet_log_trimmed`: the log of that time is not kept any more.
    """
    database: Database = request.app.state.database
    async with database.transaction(tenant=actor.tenant_id) as tx:
        receipt = await receipts.get(tx, actor, id)
    # The fleet's history is no tenant's to see; the answer tells of its own lease.
    async with database.transaction() as tx:
        again = await replaying.replay(tx, receipt)
    return ReplayView(same=again.same, differences=again.differences, receipt=again.receipt)
