"""The export's objects: segments of lines, and a checkpoint that says where they end. Pure.

A segment's name is made of its first entry alone, and is written only if there is no such
object: so whoever begins at the same entry writes the same object, once, and two writers
cannot both go on from one place.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import orjson

from penstock.central.evidence.model import Line, Point

FOLDER: Final = "segments"
CHECKPOINT: Final = "checkpoint.json"
ENTRY: Final = '"entry": '  # what comes after it is what the hash covers
LINE: Final = re.compile(r'\{"seq": (\d+), "hash": "([0-9a-f]{64})", "entry": .*\}')


@dataclass(frozen=True)
class Checkpoint:
    """A point of the chain, signed by the platform's key."""

    point: Point
    signature: bytes

    def encode(self) -> bytes:
        said = {
            "seq": self.point.seq,
            "hash": self.point.hash.hex(),
            "signature": base64.b64encode(self.signature).decode(),
        }
        return orjson.dumps(said)

    @classmethod
    def decode(cls, body: bytes) -> "Checkpoint | None":
        """None if it is not one."""
        try:
            said = orjson.loads(body)
            point = Point(int(said["seq"]), bytes.fromhex(said["hash"]))
            return cls(point, base64.b64decode(said["signature"], validate=True))
        except (ValueError, TypeError, KeyError):
            return None


def signed_bytes(log: str, point: Point) -> bytes:
    """What the signature of a log's checkpoint is over."""
    return f"penstock {log} checkpoint\n{point.seq}\n{point.hash.hex()}\n".encode()


def chain(before: Point, seq: int, at: datetime, entry: str) -> Line:
    """The next line of a log whose entries are chained when they are exported."""
    point = Point(seq, hashlib.sha256(before.hash + entry.encode()).digest())
    text = f'{{"seq": {seq}, "hash": "{point.hash.hex()}", {ENTRY}{entry}}}'
    return Line(point, at, text)


def follow(before: Point, lines: Sequence[Line]) -> bool:
    """Whether these are the next lines of the chain, as they were when they were hashed."""
    for line in lines:
        entry = line.text[line.text.index(ENTRY) + len(ENTRY) : -1].encode()
        hash = hashlib.sha256(before.hash + entry).digest()
        if line.point != Point(before.seq + 1, hash):
            return False
        before = line.point
    return True


def name(first: Line) -> str:
    return f"{FOLDER}/{first.at.astimezone(UTC):%Y/%m/%d}/{first.point.seq:020}.jsonl"


def body(lines: Sequence[Line]) -> bytes:
    return "".join(f"{line.text}\n" for line in lines).encode()


def end(segment: bytes) -> Point | None:
    """Where a segment ends; None if it is cut short or is no segment."""
    if not segment.endswith(b"\n"):
        return None
    last = LINE.fullmatch(segment.decode(errors="replace").rstrip("\n").rpartition("\n")[2])
    return Point(int(last[1]), bytes.fromhex(last[2])) if last else None
