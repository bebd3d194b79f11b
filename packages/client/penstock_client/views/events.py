"""What happened."""

from collections.abc import Mapping
from typing import TypedDict


class Event(TypedDict):
    """A CloudEvents envelope. `sequence` is its place in the one ordered log."""

    specversion: str
    id: str
    source: str
    type: str
    subject: str
    time: str
    tenantid: str | None
    correlationid: str
    sequence: int | str
    data: Mapping[str, object]
