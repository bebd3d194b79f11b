"""What a site tells central of a document: steps and observations, each once."""

from datetime import datetime
from typing import Final

from google.protobuf.message import Message

from penstock.kernel import db
from penstock.kernel.db import Tx
from penstock.site import reports
from penstock.site.documents import store
from penstock.site.documents.model import Document
from penstock_contracts import wire_pb2 as wire

DETAIL_MAX: Final = 500


async def step(
    tx: Tx, document: Document, workflow: str, step: str, status: wire.StepStatus, detail: str = ""
) -> bool:
    """Tell how far the workflow is, each step and status once; whether it was news."""
    at = await store.step(tx, document, f"{workflow}.{step}", wire.StepStatus.Name(status))
    if at is None:
        return False
    stepped = wire.Stepped(
        kind=document.kind,
        key=document.key,
        revision=document.revision,
        workflow=workflow,
        step=step,
        status=status,
        at_us=db.to_us(at),
        detail=detail[:DETAIL_MAX],
    )
    reports.send(tx, wire.SiteReport(correlation_id=document.correlation_id, stepped=stepped))
    return True


async def last_step(tx: Tx, kind: str, key: str, revision: int) -> tuple[str, str, datetime] | None:
    """The step that was told last, its status, and when."""
    return await store.last_step(tx, kind, key, revision)


async def first(tx: Tx, document: Document, observed: str) -> datetime | None:
    """When this was observed, if it is for the first time; None if it is no news."""
    return await store.observe(tx, document, observed)


def report(tx: Tx, document: Document, body: Message) -> None:
    """Tell what became true; `body` is the kind's own message."""
    reported = wire.Reported(
        kind=document.kind,
        key=document.key,
        revision=document.revision,
        body=body.SerializeToString(),
    )
    reports.send(tx, wire.SiteReport(correlation_id=document.correlation_id, reported=reported))
