"""Re-enrolments over HTTP."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from penstock.central.reenrolments import model, service
from penstock.central.reenrolments.model import Outcome, Part, PartKind, Reenrolment
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View
from penstock.kernel.names import Text
from penstock_contracts import identity

router = APIRouter(prefix="/v1/reenrolments", tags=["nodes"], route_class=TxRoute)


class Decision(Body):
    reason: Annotated[Text, Field(min_length=1)]


class PartView(View):
    kind: PartKind
    same: list[str]
    gone: list[str]
    new: list[str]

    @classmethod
    def of(cls, part: Part) -> "PartView":
        return cls(kind=part.kind, same=list(part.same), gone=list(part.gone), new=list(part.new))


class ReenrolmentView(View):
    id: str
    node: str
    node_name: str
    site: str
    status: Outcome
    key: str
    key_in_force: str
    parts: list[PartView]
    differs: str
    requested_at: datetime
    decided_at: datetime | None
    decided_by: str
    decided_reason: str

    @classmethod
    def of(cls, found: Reenrolment) -> "ReenrolmentView":
        return cls(
            id=found.id,
            node=found.node_id,
            node_name=found.node_name,
            site=found.site_id,
            status=found.status,
            key=identity.fingerprint(found.public_key),
            key_in_force=identity.fingerprint(found.key_in_force),
            parts=[PartView.of(part) for part in found.parts],
            differs=model.other_hardware(found.parts),
            requested_at=found.requested_at,
            decided_at=found.decided_at,
            decided_by=found.decided_by,
            decided_reason=found.decided_reason,
        )


@router.get("")
async def list_reenrolments(
    actor: Caller,
    tx: Tx,
    paging: PageQuery,
    node: Annotated[str | None, Query(max_length=64)] = None,
    status: Annotated[Outcome | None, Query()] = None,
) -> Page[ReenrolmentView]:
    """Machines that say they are nodes that lost their key."""
    rows = await service.page(
        tx, actor, node_id=node, status=status, after=paging.after, limit=paging.fetch
    )
    return paging.page(rows, ReenrolmentView.of, lambda found: found.id)


@router.get("/{id}")
async def get_reenrolment(id: str, actor: Caller, tx: Tx) -> ReenrolmentView:
    """What the node had, what this machine has, and the fingerprint of its new key."""
    return ReenrolmentView.of(await service.get(tx, actor, id))


@router.post("/{id}/approve")
async def approve_reenrolment(id: str, body: Decision, actor: Caller, tx: Tx) -> ReenrolmentView:
    """Let the node come back under its new key. The leases that it held end, and its old key opens
    nothing any more."""
    return ReenrolmentView.of(await service.approve(tx, actor, id, body.reason))


@router.post("/{id}/reject")
async def reject_reenrolment(id: str, body: Decision, actor: Caller, tx: Tx) -> ReenrolmentView:
    """Refuse the new key. The machine is told why."""
    return ReenrolmentView.of(await service.reject(tx, actor, id, body.reason))
