"""All SQL that reads the audit log, and that says how far it is exported."""

import asyncpg

from penstock.central.audit.model import Entry, Export, Fault, Filter
from penstock.central.evidence.model import Line, Point
from penstock.kernel import logs
from penstock.kernel.db import Tx

COLUMNS = "seq, tenant_id, actor, action, subject, detail, reason, correlation_id, at, hash"
SEQ_MAX = logs.SEQ_MAX
LOG = "audit"


async def page(
    tx: Tx, wanted: Filter, *, after: int | None, limit: int, newest_first: bool
) -> list[Entry]:
    start = after if after is not None else (SEQ_MAX if newest_first else 0)
    compare, order = ("<", "DESC") if newest_first else (">", "ASC")
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM audit_entries
        WHERE seq {compare} $1 AND ($2::text IS NULL OR tenant_id = $2)
            AND ($3::text IS NULL OR actor = $3) AND ($4::text IS NULL OR action = $4)
            AND ($5::text IS NULL OR subject = $5)
            AND ($6::timestamptz IS NULL OR at >= $6) AND ($7::timestamptz IS NULL OR at < $7)
        ORDER BY seq {order} LIMIT $8
        """,
        start,
        wanted.tenant,
        wanted.actor,
        wanted.action,
        wanted.subject,
        wanted.since,
        wanted.until,
        limit,
    )
    return [Entry(**dict(row)) for row in rows]


async def lines(tx: Tx, after: int, limit: int) -> list[Line]:
    rows = await tx.fetch(
        """
        SELECT a.seq, a.hash, a.at, audit_line(a) AS text FROM audit_entries a
        WHERE a.seq > $1 ORDER BY a.seq LIMIT $2
        """,
        after,
        limit,
    )
    return [Line(_point(row), row["at"], row["text"]) for row in rows]


async def faults(tx: Tx, after: int, until: int, limit: int) -> list[Fault]:
    rows = await tx.fetch("SELECT * FROM audit_faults($1, $2) LIMIT $3", after, until, limit)
    return [Fault(row["at_seq"], row["fault"]) for row in rows]


async def head(tx: Tx) -> Point:
    row = await tx.fetchrow("SELECT seq, hash FROM audit_head")
    return _point(row) if row else Point()


async def point(tx: Tx, seq: int) -> Point | None:
    """Where the chain is at this number, if it has it."""
    if seq == (begins := await start(tx)).seq:
        return begins
    row = await tx.fetchrow("SELECT seq, hash FROM audit_entries WHERE seq = $1", seq)
    return _point(row) if row else None


async def start(tx: Tx) -> Point:
    """The last entry that was trimmed."""
    begins = await logs.start(tx, LOG)
    return Point(begins.seq, begins.hash)


async def trim(tx: Tx, last: Line) -> int:
    """Have the log begin after this entry, and delete what was before; how many they were."""
    await logs.move(tx, LOG, logs.Start(last.point.seq, last.point.hash, last.at))
    return await tx.execute("DELETE FROM audit_entries WHERE seq <= $1", last.point.seq)


async def export(tx: Tx) -> Export:
    row = await tx.fetchrow("SELECT seq, hash, exported_at, store, fault FROM audit_exports")
    if row is None:
        return Export()
    return Export(_point(row), row["exported_at"], row["store"], row["fault"])


async def begin(tx: Tx) -> None:
    """From now on entries are expected to be exported. What was said first stands."""
    await tx.execute("UPDATE audit_exports SET begun_at = now() WHERE begun_at IS NULL")


async def exported(tx: Tx, point: Point, where: str) -> None:
    await tx.execute(
        "UPDATE audit_exports SET seq = $1, hash = $2, exported_at = $3, store = $4, fault = ''",
        point.seq,
        point.hash,
        tx.now,
        where,
    )


async def stuck(tx: Tx, fault: str) -> None:
    await tx.execute("UPDATE audit_exports SET fault = $1", fault)


def _point(row: asyncpg.Record) -> Point:
    return Point(row["seq"], bytes(row["hash"]))
