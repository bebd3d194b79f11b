"""The audit log in object storage, as it happens, beyond the reach of whoever has the database.

One replica exports at a time. Everything it needs to go on is over there: the checkpoint, and
the segment after it if it died between the two. Before it goes on from a point it makes sure
that the database still has exactly that point, so a log that was cut off or written anew is
noticed, and what was exported is never replaced.
"""

from typing import Final

from penstock.central.audit import store
from penstock.central.evidence import segments
from penstock.central.evidence.archive import Archive, Tampered
from penstock.central.evidence.model import Line, Point
from penstock.kernel import loops, wakeups
from penstock.kernel.db import Database, Tx
from penstock.kernel.loops import Alone, Idle, Loop, Pauses
from penstock.kernel.objects import Objects
from penstock.kernel.runs import Runs
from penstock.kernel.wakeups import Wakeups
from penstock_contracts.failpoints import Failpoint
from penstock_contracts.identity import PrivateKey

LOCK: Final = 0x41554458  # "AUDX"
APPENDED: Final = "audit"  # told when an entry is appended
EXPORTED: Final = "audit.exported"  # and when it is over there, or cannot be
SEGMENT_LINES_MAX: Final = 5_120
PAGE_LINES: Final = 256  # of a segment: read together
GATHER_S: Final = 1.0  # what happens together goes into one segment
PAUSES: Final = Pauses(1.0, 30.0)  # while the object store is away
SEGMENT: Final = Failpoint("central.audit.segment_written")  # and the checkpoint is not
CHECKPOINT: Final = Failpoint("central.audit.checkpoint_written")


class Exporter:
    def __init__(self, database: Database, objects: Objects, key: PrivateKey) -> None:
        self._database = database
        self._archive = Archive(objects, key, store.LOG)

    def loop(self, told: Wakeups, url: str) -> Loop:
        """Ensures that every entry is in the object store soon, by one process at a time."""
        follow = loops.reconcile(self._advance, told, (APPENDED,), pauses=PAUSES, gather_s=GATHER_S)

        async def begin(runs: Runs) -> None:
            await self._database.run(store.begin)
            await follow(runs)

        return Loop(
            "audit export",
            "Copies the audit log to object storage, signed, as it grows.",
            begin,
            Alone(url, LOCK),
        )

    async def _advance(self) -> Idle:
        try:
            await self.catch_up()
        except Tampered as fault:
            await self._stuck(str(fault))
            raise loops.Stuck(f"the audit log was tampered with: {fault}") from fault
        return loops.UNTIL_TOLD

    async def catch_up(self) -> None:
        """Export what there is now. What comes meanwhile is for the next time: where something
        always does, each segment would be as small as the time allows that the last one took."""
        at, more = await self._resume(), True
        while more and (lines := await self._read(at)):
            at = await self._write(lines)
            # A segment that was there already may have fewer of them.
            more = len(lines) == SEGMENT_LINES_MAX or at != lines[-1].point

    async def _resume(self) -> Point:
        """The last point over there, which the database must have as well."""
        at = await self._archive.point()
        if at is None:
            at = await self._first()
        async with self._database.transaction() as tx:
            here = await store.point(tx, at.seq)
        if here is None:
            raise Tampered(f"entry {at.seq} was exported, and the log has no such entry any more")
        if here != at:
            raise Tampered(f"entry {at.seq} was exported with another hash than it has now")
        return at

    async def _first(self) -> Point:
        """Without a checkpoint nothing was exported there yet, or somebody took it away. What was
        trimmed is where it was exported to before."""
        async with self._database.transaction() as tx:
            export, start = await store.export(tx), await store.start(tx)
        if export.point.seq and export.store == self._archive.url:
            where = self._archive.checkpoint
            raise Tampered(f"{where} is gone; it was at entry {export.point.seq}")
        return start

    async def _read(self, at: Point) -> list[Line]:
        """The next lines, if the chain is whole up to the last of them. Not all at once: everybody
        else in this process waits while they are looked at."""
        lines: list[Line] = []
        while len(lines) < SEGMENT_LINES_MAX:
            page = await self._read_page(lines[-1].point if lines else at)
            lines += page
            if len(page) < PAGE_LINES:
                break
        return lines

    async def _read_page(self, at: Point) -> list[Line]:
        async with self._database.look() as tx:
            head, lines = await store.head(tx), await store.lines(tx, at.seq, PAGE_LINES)
            last = lines[-1].point if lines else at
            whole = segments.follow(at, lines) and (len(lines) == PAGE_LINES or last == head)
            # What exactly is wrong, the database says; it reads all of it for that.
            faults = [] if whole else await store.faults(tx, at.seq, store.SEQ_MAX, 1)
        if faults:
            raise Tampered(f"entry {faults[0].seq}: {faults[0].fault}")
        return lines

    async def _write(self, lines: list[Line]) -> Point:
        at = (await self._archive.write(lines))[-1].point
        SEGMENT.hit()
        await self._archive.sign(at)
        CHECKPOINT.hit()
        await self._database.run(lambda tx: _done(tx, at, self._archive.url))
        return at

    async def _stuck(self, fault: str) -> None:
        async def write(tx: Tx) -> None:
            await store.stuck(tx, fault)
            wakeups.notify(tx, EXPORTED)

        await self._database.run(write)


async def _done(tx: Tx, at: Point, where: str) -> None:
    await store.exported(tx, at, where)
    wakeups.notify(tx, EXPORTED)
