"""Logs that are exported when they are trimmed: read, written to object storage, and only then cut.

What is exported is a chain of its own: each line's hash covers the one before it, and where the log
begins now has the hash of the last that went. Killed anywhere, the next run finds the segment that
was written and goes on: nothing is lost, and nothing is written twice.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Protocol

from penstock.central.evidence import segments
from penstock.central.evidence.archive import Archive
from penstock.central.evidence.model import Line, Point
from penstock.kernel import logs
from penstock.kernel.db import Database, Tx
from penstock.kernel.logs import Row, Start
from penstock.kernel.retention import Batch
from penstock_contracts.failpoints import Failpoint

SEGMENT_LINES_MAX: Final = 2_048
EXPORTED: Final = Failpoint("central.retention.exported")  # and the log is not cut yet
CUT: Final = Failpoint("central.retention.cut")  # and that is not committed


class Log(Protocol):
    @property
    def name(self) -> str: ...

    async def rows(self, tx: Tx, after: int, before: datetime, limit: int) -> Sequence[Row]:
        """The next of the log that are older, in order and without a gap."""
        ...

    async def held(self, tx: Tx) -> tuple[int, str]:
        """The last that may go, and what holds those after it."""
        ...

    async def trim(self, tx: Tx, after: int, until: int) -> int:
        """Delete what the log's new start, `until`, leaves behind; how many rows those were."""
        ...


class LogTrimmer:
    def __init__(self, database: Database, archive: Archive, log: Log) -> None:
        self._database = database
        self._archive = archive
        self._log = log

    async def trim(self, before: datetime) -> Batch:
        """Export and cut one segment of what is older."""
        async with self._database.look() as tx:
            start = await logs.start(tx, self._log.name)
            rows = await self._log.rows(tx, start.seq, before, SEGMENT_LINES_MAX)
            may_go, why = await self._log.held(tx)
        free = [row for row in rows if row.seq <= may_go]
        held = why if len(free) < len(rows) else ""
        if not free:
            return Batch(0, held=held)
        lines = await self._archive.write(_chained(start, free))
        lines = await self._archive.read(lines)  # as whoever looks for it will find it
        await self._archive.sign(lines[-1].point)
        EXPORTED.hit()
        gone = await self._database.run(lambda tx: self._cut(tx, start, lines[-1]))
        more = len(rows) == SEGMENT_LINES_MAX or len(lines) < len(free)
        return Batch(gone, more=more and not held, held=held)

    async def _cut(self, tx: Tx, start: Start, last: Line) -> int:
        if await logs.start(tx, self._log.name, lock=True) != start:
            return 0  # another process was quicker
        await logs.move(tx, self._log.name, Start(last.point.seq, last.point.hash, last.at))
        gone = await self._log.trim(tx, start.seq, last.point.seq)
        CUT.hit()
        return gone


def _chained(start: Start, rows: Sequence[Row]) -> list[Line]:
    at = Point(start.seq, start.hash)
    lines: list[Line] = []
    for row in rows:
        line = segments.chain(at, row.seq, row.at, row.entry)
        lines.append(line)
        at = line.point
    return lines
