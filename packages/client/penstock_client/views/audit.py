"""Who did what, and whether the log of it is whole."""

from collections.abc import Mapping
from typing import TypedDict


class AuditEntry(TypedDict):
    """Of a change, `before` in `detail` has what was there."""

    seq: int
    at: str
    tenant: str | None
    actor: str
    action: str
    subject: str
    reason: str
    detail: Mapping[str, object]
    correlation_id: str
    hash: str


class AuditPoint(TypedDict):
    seq: int
    hash: str


class AuditFault(TypedDict):
    seq: int
    fault: str


class AuditExport(TypedDict):
    seq: int
    hash: str
    at: str | None
    fault: str


class AuditVerification(TypedDict):
    after: int
    until: AuditPoint
    head: AuditPoint
    start: AuditPoint  # the last entry that was trimmed
    faults: list[AuditFault]
    export: AuditExport
    next: int | None
