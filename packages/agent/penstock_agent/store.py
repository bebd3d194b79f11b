"""All SQL of the journal. Each function is one step of a transaction that its caller owns."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from penstock_agent import fences
from penstock_agent.fences import Fence
from penstock_agent.orders import Order
from penstock_contracts import link
from penstock_contracts.wire_pb2 import Entry

RESULTS_KEPT_US: Final = 30 * 24 * 3600 * 1_000_000

SCHEMA: Final = """
-- How far each node has read its feed of tasks, and numbered its feed of results.
CREATE TABLE feeds (
    node_id TEXT PRIMARY KEY,
    received INTEGER NOT NULL,
    sent INTEGER NOT NULL
) STRICT;
-- Received and not done: a signed task, exactly as it came.
CREATE TABLE entries (
    node_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (node_id, seq)
) STRICT;
-- The first result of every task: what a repeated task is answered with.
CREATE TABLE results (
    node_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    finished_at_us INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (node_id, task_id)
) STRICT;
-- Signed results that the site has not acknowledged.
CREATE TABLE outbox (
    node_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (node_id, seq)
) STRICT;
-- The health that the site was told last, so that it is told changes only.
CREATE TABLE health (node_id TEXT PRIMARY KEY, told BLOB NOT NULL) STRICT;
-- The highest fence seen for each slot. It never goes down.
CREATE TABLE fences (
    node_id TEXT NOT NULL,
    slot_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    allocation_id TEXT NOT NULL,
    closed INTEGER NOT NULL,
    PRIMARY KEY (node_id, slot_id)
) STRICT;
"""


@dataclass(frozen=True)
class Positions:
    received: int
    sent: int


@dataclass(frozen=True)
class Pending:
    """An entry that is not done."""

    seq: int
    body: bytes


def positions(db: sqlite3.Connection, node_id: str) -> Positions:
    db.execute("INSERT INTO feeds VALUES (?, 0, 0) ON CONFLICT DO NOTHING", (node_id,))
    row = db.execute("SELECT received, sent FROM feeds WHERE node_id = ?", (node_id,)).fetchone()
    return Positions(*row)


def receive(db: sqlite3.Connection, node_id: str, entries: Sequence[Entry]) -> int:
    """Store those entries that follow the cursor, and move it."""
    cursor = positions(db, node_id).received
    fresh = link.accept(cursor, entries)
    if not fresh:
        return cursor
    rows = [(node_id, entry.seq, entry.body) for entry in fresh]
    db.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)
    cursor = fresh[-1].seq
    db.execute("UPDATE feeds SET received = ? WHERE node_id = ?", (cursor, node_id))
    return cursor


def pending(db: sqlite3.Connection, node_id: str, after: int, limit: int) -> list[Pending]:
    rows = db.execute(
        "SELECT seq, body FROM entries WHERE node_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        (node_id, after, limit),
    )
    return [Pending(*row) for row in rows]


def admit(db: sqlite3.Connection, node_id: str, order: Order) -> str | None:
    """Put the order's fences in force, or return why they cannot be; then nothing changes."""
    if order.lease is None:
        return None
    ends, allocation_id = order.kind.ends, order.lease.allocation_id
    for slot in order.lease.slots:
        held = _fence(db, node_id, slot.id)
        if reason := fences.refusal(held, slot, allocation_id, ends=ends):
            return reason
    rows = [(node_id, s.id, s.fence, allocation_id, ends) for s in order.lease.slots]
    db.executemany("INSERT OR REPLACE INTO fences VALUES (?, ?, ?, ?, ?)", rows)
    return None


def first_result(db: sqlite3.Connection, node_id: str, task_id: str) -> bytes | None:
    row = db.execute(
        "SELECT body FROM results WHERE node_id = ? AND task_id = ?", (node_id, task_id)
    ).fetchone()
    return row[0] if row else None


def finish(
    db: sqlite3.Connection, node_id: str, seq: int, task_id: str, body: bytes, at_us: int
) -> int:
    """Keep and send the result of entry `seq`. The first result of a task stays its result."""
    if task_id:
        db.execute(
            "INSERT INTO results VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (node_id, task_id, at_us, body),
        )
        body = first_result(db, node_id, task_id) or body
    return answer(db, node_id, seq, body)


def answer(db: sqlite3.Connection, node_id: str, seq: int, body: bytes) -> int:
    """Send `body` for entry `seq`, which is done; return the number that it is sent under."""
    db.execute("DELETE FROM entries WHERE node_id = ? AND seq = ?", (node_id, seq))
    return say(db, node_id, body)


def say(db: sqlite3.Connection, node_id: str, body: bytes) -> int:
    """Send `body`; return the number that it is sent under."""
    (sent,) = db.execute(
        "UPDATE feeds SET sent = sent + 1 WHERE node_id = ? RETURNING sent", (node_id,)
    ).fetchone()
    db.execute("INSERT INTO outbox VALUES (?, ?, ?)", (node_id, sent, body))
    return int(sent)


def say_health(db: sqlite3.Connection, node_id: str, told: bytes, body: bytes) -> int:
    """Send `body`, unless the site was told just this last; 0 then. At first, all is well."""
    row = db.execute("SELECT told FROM health WHERE node_id = ?", (node_id,)).fetchone()
    if told == (row[0] if row else b""):
        return 0
    db.execute("INSERT OR REPLACE INTO health VALUES (?, ?)", (node_id, told))
    return say(db, node_id, body)


def unsent(db: sqlite3.Connection, node_id: str, after: int, limit: int) -> list[link.Outgoing]:
    rows = db.execute(
        "SELECT seq, body FROM outbox WHERE node_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        (node_id, after, limit),
    )
    return [link.Outgoing(*row) for row in rows]


def acknowledge(db: sqlite3.Connection, node_id: str, seq: int) -> None:
    db.execute("DELETE FROM outbox WHERE node_id = ? AND seq <= ?", (node_id, seq))


def renumber(db: sqlite3.Connection, node_id: str, after: int) -> int:
    """Number what waits from `after` on, if no number is that high yet; the last one given."""
    if (sent := positions(db, node_id).sent) >= after:
        return sent
    rows = db.execute(
        "DELETE FROM outbox WHERE node_id = ? RETURNING seq, body", (node_id,)
    ).fetchall()
    bodies = [body for _, body in sorted(rows)]
    numbered = [(node_id, seq, body) for seq, body in enumerate(bodies, after + 1)]
    db.executemany("INSERT INTO outbox VALUES (?, ?, ?)", numbered)
    sent = after + len(numbered)
    db.execute("UPDATE feeds SET sent = ? WHERE node_id = ?", (sent, node_id))
    return sent


def forget_old_results(db: sqlite3.Connection, now_us: int) -> None:
    db.execute("DELETE FROM results WHERE finished_at_us < ?", (now_us - RESULTS_KEPT_US,))


def _fence(db: sqlite3.Connection, node_id: str, slot_id: str) -> Fence | None:
    row = db.execute(
        "SELECT number, allocation_id, closed FROM fences WHERE node_id = ? AND slot_id = ?",
        (node_id, slot_id),
    ).fetchone()
    return Fence(row[0], row[1], bool(row[2])) if row else None
