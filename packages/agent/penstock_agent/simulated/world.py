"""The simulated physical world: what runs where, and what was left behind.

It has a file of its own, because the world outlives the agent: killing the agent
changes nothing here, and an effect is durable once its transaction is.
"""

import json
import secrets
import sqlite3
from dataclasses import asdict
from typing import Final

from penstock_contracts.drivers.faults import Conflict
from penstock_contracts.drivers.host import HeldSlot, Holding
from penstock_contracts.drivers.lease import Lease, Shape, Slot

CHASSIS: Final = "chassis"

SCHEMA: Final = """
-- Device identities derive from this; it makes the nodes of each data folder unique.
CREATE TABLE seed (value BLOB NOT NULL) STRICT;
-- A tenant's virtual machine, or its whole host, and the lease as it was given (JSON).
CREATE TABLE runtimes (
    node TEXT NOT NULL,
    allocation_id TEXT NOT NULL,
    runtime_id TEXT NOT NULL,
    shape TEXT NOT NULL,
    lease TEXT NOT NULL,
    ended TEXT NOT NULL DEFAULT '', -- why, if it ended by itself
    PRIMARY KEY (node, allocation_id)
) STRICT;
-- A device (GPU, NVMe, fabric device or chassis) that holds a tenant's traces: in use while
-- the tenant's runtime exists, dirty afterwards, no row once clean.
CREATE TABLE devices (
    node TEXT NOT NULL,
    device TEXT NOT NULL,
    allocation_id TEXT NOT NULL,
    slot_id TEXT NOT NULL,
    fence INTEGER NOT NULL,
    PRIMARY KEY (node, device)
) STRICT;
-- How often each injected fault has happened.
CREATE TABLE faults (key TEXT PRIMARY KEY, happened INTEGER NOT NULL) STRICT;
"""


def seed(db: sqlite3.Connection) -> bytes:
    row = db.execute("SELECT value FROM seed").fetchone()
    if row is None:
        row = (secrets.token_bytes(32),)
        db.execute("INSERT INTO seed VALUES (?)", row)
    return row[0]


def occupy(db: sqlite3.Connection, node: str, lease: Lease) -> str:
    """Start the lease's runtime on its devices; return the runtime's id."""
    _check_shape(db, node, lease)
    for slot in lease.slots:
        _check_free(db, node, lease.allocation_id, slot)
    kind = "vm" if lease.shape is Shape.SLICE else "host"
    runtime_id = f"{kind}-{lease.allocation_id.rpartition('_')[2]}"
    given = json.dumps(asdict(lease), default=bytes.hex)
    db.execute(
        "INSERT OR REPLACE INTO runtimes VALUES (?, ?, ?, ?, ?, '')",
        (node, lease.allocation_id, runtime_id, lease.shape, given),
    )
    rows = [
        (node, device, lease.allocation_id, slot.id, slot.fence)
        for slot in lease.slots
        for device in devices(slot)
    ]
    db.executemany("INSERT OR REPLACE INTO devices VALUES (?, ?, ?, ?, ?)", rows)
    return runtime_id


def end(db: sqlite3.Connection, node: str, allocation_id: str, why: str) -> None:
    """The lease's runtime ends by itself. Its devices stay dirty."""
    db.execute(
        "UPDATE runtimes SET ended = ? WHERE node = ? AND allocation_id = ?",
        (why, node, allocation_id),
    )


def vacate(db: sqlite3.Connection, node: str, lease: Lease) -> bool:
    """Destroy the lease's runtime; whether it had ended by itself. Its devices stay dirty."""
    for slot in lease.slots:
        _check_free(db, node, lease.allocation_id, slot)
    row = db.execute(
        "DELETE FROM runtimes WHERE node = ? AND allocation_id = ? RETURNING ended",
        (node, lease.allocation_id),
    ).fetchone()
    return row is not None and row[0] != ""


def clean(db: sqlite3.Connection, node: str, slot: Slot) -> None:
    """The slot holds no trace of a tenant any more."""
    gone = [(node, device) for device in devices(slot)]
    db.executemany("DELETE FROM devices WHERE node = ? AND device = ?", gone)


def holdings(db: sqlite3.Connection, node: str) -> list[Holding]:
    """What is there, allocation by allocation."""
    rows = db.execute(
        "SELECT d.allocation_id, CASE WHEN r.ended = '' THEN r.runtime_id ELSE '' END,"
        " d.slot_id, d.fence FROM devices d LEFT JOIN runtimes r USING (node, allocation_id)"
        " WHERE node = ? ORDER BY d.allocation_id",
        (node,),
    )
    found: dict[str, tuple[str, set[HeldSlot]]] = {}
    for allocation_id, runtime_id, slot_id, fence in rows:
        found.setdefault(allocation_id, (runtime_id or "", set()))[1].add(HeldSlot(slot_id, fence))
    return [Holding(id, runtime, tuple(sorted(slots))) for id, (runtime, slots) in found.items()]


def ended(db: sqlite3.Connection, node: str) -> dict[str, str]:
    """The allocations whose runtime ended by itself, and why."""
    rows = db.execute(
        "SELECT allocation_id, ended FROM runtimes WHERE node = ? AND ended <> ''", (node,)
    )
    return dict(rows.fetchall())


def spend(db: sqlite3.Connection, key: str, times: int) -> bool:
    """Count one more occurrence of a fault; False if it has happened `times` times."""
    db.execute("INSERT INTO faults VALUES (?, 0) ON CONFLICT DO NOTHING", (key,))
    done = db.execute(
        "UPDATE faults SET happened = happened + 1 WHERE key = ? AND happened < ?", (key, times)
    )
    return done.rowcount == 1


def devices(slot: Slot) -> tuple[str, ...]:
    return (CHASSIS, *slot.devices) if slot.chassis else slot.devices


def _check_free(db: sqlite3.Connection, node: str, allocation_id: str, slot: Slot) -> None:
    for device in devices(slot):
        row = db.execute(
            "SELECT d.allocation_id, r.runtime_id FROM devices d LEFT JOIN runtimes r"
            " USING (node, allocation_id) WHERE node = ? AND device = ?",
            (node, device),
        ).fetchone()
        if row is not None and row[0] != allocation_id:
            state = "in use by" if row[1] else "not clean after"
            raise Conflict(f"{device} of slot {slot.id} is {state} {row[0]}")


def _check_shape(db: sqlite3.Connection, node: str, lease: Lease) -> None:
    """A whole host and a slice of it never run together, and no lease changes its devices."""
    others = db.execute(
        "SELECT allocation_id FROM runtimes WHERE node = ? AND allocation_id <> ?"
        " AND ? IN (shape, ?)",
        (node, lease.allocation_id, Shape.BAREMETAL, lease.shape),
    ).fetchone()
    if others:
        raise Conflict(f"the node runs {others[0]}; a whole host is never shared")
    held = _held(db, node, lease.allocation_id)
    if held and held != {device for slot in lease.slots for device in devices(slot)}:
        raise Conflict(f"{lease.allocation_id} already holds other devices of this node")


def _held(db: sqlite3.Connection, node: str, allocation_id: str) -> set[str]:
    rows = db.execute(
        "SELECT device FROM devices WHERE node = ? AND allocation_id = ?", (node, allocation_id)
    )
    return {row[0] for row in rows}
