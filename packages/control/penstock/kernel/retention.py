"""Ensures that what grows is bounded: whatever is older than it is kept goes, a little at a time.

Each kind of row says how long it is kept and how a batch of what is older goes; a batch is a short
transaction of its own. What has to be exported first is held until it is, and says why. One process
of a plane trims at a time; the database refuses to delete what must stay, whoever asks.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from prometheus_client import Counter, Gauge

from penstock.kernel import log, loops
from penstock.kernel.db import Database, Tx
from penstock.kernel.loops import Alone, Idle, Loop, Pauses

LOCK: Final = 0x52455454  # "RETT"
BATCH: Final = 1_000

TRIMMED: Final = Counter("penstock_trimmed_rows", "Rows deleted by their age", ["kind"])
OLDEST: Final = Gauge("penstock_oldest_kept_seconds", "Age of the oldest that is kept", ["kind"])
HELD: Final = Gauge("penstock_retention_held", "Whether something older cannot go", ["kind"])
logger = log.get(__name__)


@dataclass(frozen=True)
class Batch:
    """What one batch did; `held` says why something that is old enough stays."""

    gone: int
    more: bool = False  # there may be more that can go now
    held: str = ""


Trim = Callable[[datetime], Awaitable[Batch]]  # what is older than that
Forget = Callable[[Tx, datetime, int], Awaitable[int]]  # so many at most; how many they were


@dataclass(frozen=True)
class Kind:
    """`name` is that of a row of `oldest_kept`, if the plane's schema can tell its age."""

    name: str
    kept: timedelta
    trim: Trim


def rows(database: Database, name: str, kept: timedelta, forget: Forget) -> Kind:
    """A kind that needs nothing but to be deleted."""

    async def trim(before: datetime) -> Batch:
        gone = await database.run(lambda tx: forget(tx, before, BATCH))
        return Batch(gone, more=gone == BATCH)

    return Kind(name, kept, trim)


@dataclass(frozen=True)
class Trimmer:
    database: Database
    every_s: float
    kinds: Sequence[Kind]

    def loop(self, url: str) -> Loop:
        return Loop(
            "retention",
            "Trims what is older than it is kept, and exports evidence before that.",
            loops.reconcile(self._advance, pauses=Pauses(self.every_s, self.every_s)),
            Alone(url, LOCK),
        )

    async def _advance(self) -> Idle:
        if gone := await self.trim():
            logger.info("what is too old is gone", **gone)
        return self.every_s

    async def trim(self) -> dict[str, int]:
        """All that is too old by now: how many of what. A kind that fails keeps no other back."""
        counts: dict[str, int] = {}
        failures: list[Exception] = []
        await self.database.run(self._only_these)
        for kind in self.kinds:
            try:
                counts[kind.name] = await self._all(kind)
            except Exception as failure:
                why = f"{type(failure).__name__}: {failure}"
                await self._note(kind, Batch(0, held=why[:500]))
                failures.append(failure)
        if failures:
            raise failures[0]
        return {name: count for name, count in counts.items() if count}

    async def _all(self, kind: Kind) -> int:
        total = 0
        while True:
            before = await self.database.run(_now) - kind.kept
            batch = await kind.trim(before)
            total += batch.gone
            await self._note(kind, batch)
            if not batch.more:
                return total

    async def _note(self, kind: Kind, batch: Batch) -> None:
        age = await self.database.run(lambda tx: _note(tx, kind, batch))
        TRIMMED.labels(kind.name).inc(batch.gone)
        OLDEST.labels(kind.name).set(age.total_seconds() if age else 0)
        HELD.labels(kind.name).set(1 if batch.held else 0)

    async def _only_these(self, tx: Tx) -> None:
        names = [kind.name for kind in self.kinds]
        await tx.execute("DELETE FROM retentions WHERE name <> ALL($1::text[])", names)


async def _now(tx: Tx) -> datetime:
    return tx.now


async def _note(tx: Tx, kind: Kind, batch: Batch) -> timedelta | None:
    """Say how it went, for whoever asks this database; how old the oldest is that is kept."""
    await tx.execute(
        """
        INSERT INTO retentions AS r (name, kept, trimmed, looked_at, held)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (name) DO UPDATE SET kept = excluded.kept, held = excluded.held,
            trimmed = r.trimmed + excluded.trimmed, looked_at = excluded.looked_at
        """,
        kind.name,
        kind.kept,
        batch.gone,
        tx.now,
        batch.held,
    )
    oldest: datetime | None = await tx.fetchval(
        "SELECT at FROM oldest_kept WHERE name = $1", kind.name
    )
    return tx.now - oldest if oldest else None
