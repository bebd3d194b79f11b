"""The audit log over HTTP."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query
from pydantic import AwareDatetime

from penstock.central.audit import service
from penstock.central.audit.model import Entry, Export, Fault, Filter, Verification
from penstock.central.evidence.model import Point
from penstock.kernel import numbers
from penstock.kernel.errors import Invalid
from penstock.kernel.http.paging import Page, PageQuery, Paging
from penstock.kernel.http.web import Caller, Tx, TxRoute, View

router = APIRouter(prefix="/v1/audit", tags=["audit"], route_class=TxRoute)

SEQ_MAX: Final = 2**62
Seq = Annotated[int, Query(ge=0, le=SEQ_MAX)]
Text = Annotated[str | None, Query(max_length=500)]
Moment = Annotated[AwareDatetime | None, Query()]


class EntryView(View):
    """`detail` has what was done; of a change, `before` in it has what was there."""

    seq: int
    at: datetime
    tenant: str | None
    actor: str
    action: str
    subject: str
    reason: str
    detail: Mapping[str, object]
    correlation_id: str
    hash: str

    @classmethod
    def of(cls, entry: Entry) -> "EntryView":
        return cls(
            seq=entry.seq,
            at=entry.at,
            tenant=entry.tenant_id,
            actor=entry.actor,
            action=entry.action,
            subject=entry.subject,
            reason=entry.reason,
            detail=entry.detail,
            correlation_id=entry.correlation_id,
            hash=entry.hash.hex(),
        )


class PointView(View):
    seq: int
    hash: str

    @classmethod
    def of(cls, point: Point) -> "PointView":
        return cls(seq=point.seq, hash=point.hash.hex())


class FaultView(View):
    seq: int
    fault: str

    @classmethod
    def of(cls, found: Fault) -> "FaultView":
        return cls(seq=found.seq, fault=found.fault)


class ExportView(View):
    """How far the log is in object storage; `fault` says why it does not go on."""

    seq: int
    hash: str
    at: datetime | None
    fault: str

    @classmethod
    def of(cls, export: Export) -> "ExportView":
        point = PointView.of(export.point)
        return cls(seq=point.seq, hash=point.hash, at=export.at, fault=export.fault)


class VerificationView(View):
    """`next` is where to go on, or null at the end of the log. `start` is the last entry that was
    trimmed: it and those before are in object storage alone."""

    after: int
    until: PointView
    head: PointView
    start: PointView
    faults: list[FaultView]
    export: ExportView
    next: int | None

    @classmethod
    def of(cls, made: Verification) -> "VerificationView":
        return cls(
            after=made.after,
            until=PointView.of(made.until),
            head=PointView.of(made.head),
            start=PointView.of(made.start),
            faults=[FaultView.of(fault) for fault in made.faults],
            export=ExportView.of(made.export),
            next=made.until.seq if made.until.seq < made.head.seq else None,
        )


@router.get("")
async def list_audit_entries(
    actor: Caller,
    tx: Tx,
    paging: PageQuery,
    tenant: Text = None,
    by: Annotated[str | None, Query(alias="actor", max_length=500)] = None,
    action: Text = None,
    subject: Text = None,
    since: Moment = None,
    until: Moment = None,
    order: Literal["newest", "oldest"] = "newest",
) -> Page[EntryView]:
    """Who did what, and who was denied what. A tenant's admin sees what concerns the tenant."""
    wanted = Filter(tenant, by, action, subject, since, until)
    rows = await service.page(
        tx, actor, wanted, after=_after(paging), limit=paging.fetch, newest_first=order == "newest"
    )
    return paging.page(rows, EntryView.of, lambda entry: str(entry.seq))


@router.get("/lines")
async def list_audit_lines(actor: Caller, tx: Tx, paging: PageQuery, after: Seq = 0) -> Page[str]:
    """The chain as text, a line for each entry: hashes can be recomputed from it by anyone."""
    rows = await service.lines(tx, actor, _after(paging) or after, paging.fetch)
    return paging.page(rows, lambda line: line.text, lambda line: str(line.point.seq))


@router.get("/verify")
async def verify_audit(
    actor: Caller,
    tx: Tx,
    after: Seq = 0,
    limit: Annotated[int, Query(ge=1, le=50_000)] = 10_000,
) -> VerificationView:
    """Recompute the hashes of a part of the chain, and name each entry that is not as it was."""
    return VerificationView.of(await service.verify(tx, actor, after, limit))


def _after(paging: Paging) -> int | None:
    if not paging.after:
        return None
    after = numbers.whole(paging.after, SEQ_MAX)
    if after is None:
        raise Invalid("the cursor is not one that this API gave; start without it")
    return after
