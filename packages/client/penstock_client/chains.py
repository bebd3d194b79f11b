"""The audit log's chain of hashes, checked without trusting whoever gave the lines. Pure.

A line holds an entry's number, its hash, and the entry as the text that was hashed: SHA-256
over the hash of the entry before it and that text. The first entry follows a single zero byte.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

LINE: Final = re.compile(r'\{"seq": (\d{1,18}), "hash": "([0-9a-f]{64})", "entry": (\[.*\])\}')
START: Final = b"\x00"


@dataclass(frozen=True)
class Fault:
    """What is wrong, and where."""

    where: str
    what: str


@dataclass(frozen=True)
class Line:
    """One line, and where it was found."""

    text: str
    where: str


class Chain:
    """Follows lines one after the other. After a fault it goes on from what the line claims."""

    def __init__(self) -> None:
        self.seq = 0
        self.hash = START

    def follow(self, line: Line) -> Fault | None:
        """Go on to the next line; what is wrong with it, if anything."""
        read = LINE.fullmatch(line.text)
        if read is None:
            return Fault(line.where, f"what follows entry {self.seq} is not a line of an audit log")
        seq, hash, entry = int(read[1]), bytes.fromhex(read[2]), read[3]
        expected, previous = self.seq + 1, self.hash
        self.seq, self.hash = seq, hash
        if seq > expected:
            what = f"the entries from {expected} to {seq - 1} are missing"
            return Fault(line.where, what)
        if seq < expected:
            return Fault(line.where, f"entry {seq} comes after entry {expected - 1}")
        if hashlib.sha256(previous + entry.encode()).digest() != hash or not _is(entry, seq):
            return Fault(line.where, f"entry {seq} is not what its hash was made from")
        return None


def _is(entry: str, seq: int) -> bool:
    """Whether the hashed text is of the entry with this number."""
    try:
        said: object = json.loads(entry)
    except ValueError:
        return False
    return isinstance(said, list) and said[:1] == [seq]


def compare(exported: Iterable[Line], logged: Iterable[Line], *, start: int = 0) -> Iterator[Fault]:
    """Whether both are whole, and the log still has everything that was exported, as it was. Up to
    entry `start` it was trimmed, and goes on from there as the export has it."""
    there, here = Chain(), Chain()
    log = iter(logged)
    ahead = next(log, None)  # the log's next line
    lost: list[int] = []
    for line in exported:
        fault = there.follow(line)
        if fault is not None:
            yield fault
        if there.seq <= start:
            here.seq, here.hash = there.seq, there.hash
            continue
        while ahead is not None and _seq(ahead) < there.seq:
            yield from _step(here, ahead)
            ahead = next(log, None)
        if ahead is None or _seq(ahead) != there.seq:
            lost.append(there.seq)
            continue
        yield from _step(here, ahead)
        if ahead.text != line.text:
            what = f"entry {there.seq} is not what was exported in {line.where}"
            yield Fault(ahead.where, what)
        ahead = next(log, None)
    if lost:
        what = f"the entries from {lost[0]} to {lost[-1]} were exported; {len(lost)} of them"
        yield Fault("the log", f"{what} are not in it any more")
    while ahead is not None:
        yield from _step(here, ahead)
        ahead = next(log, None)


def _step(chain: Chain, line: Line) -> Iterator[Fault]:
    fault = chain.follow(line)
    if fault is not None:
        yield fault


def _seq(line: Line) -> int:
    read = LINE.fullmatch(line.text)
    return int(read[1]) if read else 0
