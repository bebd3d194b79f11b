"""An entry of the audit log, and what verification says of a part of it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

NOTHING: Final = b"\x00"  # what the first entry's hash is chained to


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
class Point:
    """A place in the chain: everything up to it is fixed by its hash."""

    seq: int = 0
    hash: bytes = NOTHING


@dataclass(frozen=True)
class Fault:
    seq: int
    fault: str


@dataclass(frozen=True)
class Export:
    """How far the log is in object storage, as this database has it."""

    point: Point = Point()
    at: datetime | None = None
    store: str = ""
    fault: str = ""


@dataclass(frozen=True)
class Verification:
    """What is wrong after `after` and up to `until`. It is the whole log if that is the head."""

    after: int
    until: Point
    head: Point
    faults: tuple[Fault, ...]
    export: Export


@dataclass(frozen=True)
class Line:
    """An entry as it is exported."""

    point: Point
    at: datetime
    text: str
