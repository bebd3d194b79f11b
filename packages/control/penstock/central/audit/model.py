"""An entry of the audit log, and what verification says of a part of it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from penstock.central.evidence.model import START, Point


@dataclass(frozen=True)
class Entry:
    seq: int
    tenant_id: str | None
    actor: str
    action: str
    subject: str
    detail: Mapping[str, object]
    reason: str
    correlation_id: str
    at: datetime
    hash: bytes


@dataclass(frozen=True)
class Filter:
    """None means any."""

    tenant: str | None = None
    actor: str | None = None
    action: str | None = None
    subject: str | None = None
    since: datetime | None = None
    until: datetime | None = None  # and not this moment itself


@dataclass(frozen=True)
class Fault:
    seq: int
    fault: str


@dataclass(frozen=True)
class Export:
    """How far the log is in object storage, as this database has it."""

    point: Point = START
    at: datetime | None = None
    store: str = ""
    fault: str = ""


@dataclass(frozen=True)
class Verification:
    """What is wrong after `after` and up to `until`. It is the whole log if that is the head."""

    after: int
    until: Point
    head: Point
    start: Point  # the last entry that was trimmed, after it was exported
    faults: tuple[Fault, ...]
    export: Export
