"""Desired documents: what central wants of one key of one kind. Pure."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# Kind, key and revision are part of a workflow's id, with colons between them.
KIND: Final = re.compile(r"[a-z][a-z_]{0,39}")
KEY: Final = re.compile(r"[A-Za-z0-9_.-]{1,120}")
REVISION_MAX: Final = 2**63 - 1
BODY_BYTES_MAX: Final = 1 << 20
CORRELATION_ID_MAX: Final = 64


@dataclass(frozen=True)
class Document:
    """One revision of what is desired."""

    kind: str
    key: str
    revision: int
    correlation_id: str
    body: bytes


class Standing(StrEnum):
    """What has become of a document since a workflow was started for it."""

    CURRENT = "current"
    SUPERSEDED = "superseded by a newer revision"
    HANDED_OVER = "handed over to another version"
    CANCELLED = "cancelled by an operator"
    GONE = "ended for good"


@dataclass(frozen=True)
class Kept:
    """What is kept of a document besides its body."""

    revision: int
    version: int
    cancelled: str

    def standing(self, revision: int, version: int) -> Standing:
        """Of a workflow that was started for this revision, in this version."""
        if self.revision != revision:
            return Standing.SUPERSEDED
        if self.version > version:
            return Standing.HANDED_OVER
        return Standing.CANCELLED if self.cancelled else Standing.CURRENT


def flaw(kind: str, key: str, revision: int, body: bytes) -> str:
    """Why this cannot be a document; empty if it can."""
    if not KIND.fullmatch(kind):
        return f"{kind[:64]!r} cannot be a kind: lower-case letters and underscores, at most 40"
    if not KEY.fullmatch(key):
        return f"{key[:64]!r} cannot be a key: letters, digits, `_`, `.` and `-`, at most 120"
    if not 1 <= revision <= REVISION_MAX:
        return f"revision {revision} of {kind} {key} is out of range"
    if len(body) > BODY_BYTES_MAX:
        return f"{kind} {key} has {len(body)} bytes, which is more than {BODY_BYTES_MAX}"
    return ""
