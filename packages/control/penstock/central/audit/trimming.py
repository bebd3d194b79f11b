"""Trims the audit log: only what is in object storage, read back and the same to the last byte."""

from datetime import datetime

from penstock.central.audit import store
from penstock.central.evidence.archive import Archive
from penstock.central.evidence.model import Line, Point
from penstock.kernel.db import Database, Tx
from penstock.kernel.objects import Objects
from penstock.kernel.retention import Batch
from penstock_contracts.failpoints import Failpoint
from penstock_contracts.identity import PrivateKey

SEGMENT_LINES_MAX = 5_120  # as many as the exporter writes together
CUT = Failpoint("central.retention.audit_cut")  # and that is not committed


class AuditTrimmer:
    def __init__(self, database: Database, objects: Objects, key: PrivateKey) -> None:
        self._database = database
        self._archive = Archive(objects, key, store.LOG)

    async def trim(self, before: datetime) -> Batch:
        """Cut the first segment, if all of it is older."""
        async with self._database.look() as tx:
            start, export = await store.start(tx), await store.export(tx)
            first = await store.lines(tx, start.seq, 1)
            if not first or first[0].at >= before:
                return Batch(0)
            lines = await store.lines(tx, start.seq, SEGMENT_LINES_MAX)
        if export.fault or export.store != self._archive.url:
            why = export.fault or f"nothing was exported to {self._archive.url} yet"
            return Batch(0, held=f"the audit log is not exported: {why}")
        if first[0].point.seq > export.point.seq:
            return Batch(0, held=f"the audit log is exported up to entry {export.point.seq}")
        segment = await self._archive.read(lines)
        last = segment[-1]
        if last.at >= before or last.point.seq > export.point.seq:
            return Batch(0)
        gone = await self._database.run(lambda tx: _cut(tx, start, last))
        return Batch(gone, more=True)


async def _cut(tx: Tx, start: Point, last: Line) -> int:
    if await store.start(tx) != start:
        return 0  # another process was quicker
    gone = await store.trim(tx, last)
    CUT.hit()
    return gone
