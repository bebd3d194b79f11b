"""A log of evidence: entries in order, chained by their hashes. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

NOTHING: Final = b"\x00"  # what the first entry's hash is chained to


@dataclass(frozen=True)
class Point:
    """A place in the chain: everything up to it is fixed by its hash."""

    seq: int = 0
    hash: bytes = NOTHING


START: Final = Point()


@dataclass(frozen=True)
class Line:
    """An entry as it is exported."""

    point: Point
    at: datetime
    text: str
