"""The simulated physical world: what runs where, and what was left behind.

It has a file of its own, because the world outlives the agent: killing the agent
changes nothing here, and an effect is durable once its transaction is.
"""

import secrets
import sqlite3
from typing import Final

from penstock_agent.host import HostFailed, Lease, Shape, Slot

CHASSIS: Final = "chassis"

SCHEMA: Final = """
-- Device identities derive from this; it makes the nodes of each data folder unique.
CREATE TABLE seed (value BLOB NOT NULL) STRICT;
-- A tenant's virtual machine, or its whole host.
CREATE TABLE runtimes (
    node TEXT NOT NULL,
    allocation_id TEXT NOT NULL,
    runtime_id TEXT NOT NULL,
    shape TEXT NOT NULL,
    PRIMARY KEY (node, allocation_id)
) STRICT;
-- A GPU (with its NVMe and fabric device) or chassis that holds a tenant's traces:
-- in use while the tenant's runtime exists, dirty afterwards, no row once clean.
CREATE TABLE devices (
    node TEXT NOT NULL,
    device TEXT NOT NULL,
    allocation_id TEXT NOT NULL,
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
    db.execute(
        "INSERT INTO runtimes VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (node, lease.allocation_id, runtime_id, lease.shape),
    )
    rows = [(node, device(slot), lease.allocation_id) for slot in lease.slots]
    db.executemany("INSERT INTO devices VALUES (?, ?, ?) ON CONFLICT DO NOTHING", rows)
    return runtime_id


def vacate(db: sqlite3.Connection, node: str, lease: Lease) -> None:
    """Destroy the lease's runtime. Its devices stay dirty."""
    for slot in lease.slots:
        _check_free(db, node, lease.allocation_id, slot)
    db.execute(
        "DELETE FROM runtimes WHERE node = ? AND allocation_id = ?", (node, lease.allocation_id)
    )


def clean(db: sqlite3.Connection, node: str, slot: Slot) -> None:
    """The slot holds no trace of a tenant any more."""
    db.execute("DELETE FROM devices WHERE node = ? AND device = ?", (node, device(slot)))


def spend(db: sqlite3.Connection, key: str, times: int) -> bool:
    """Count one more occurrence of a fault; False if it has happened `times` times."""
    db.execute("INSERT INTO faults VALUES (?, 0) ON CONFLICT DO NOTHING", (key,))
    done = db.execute(
        "UPDATE faults SET happened = happened + 1 WHERE key = ? AND happened < ?", (key, times)
    )
    return done.rowcount == 1


def device(slot: Slot) -> str:
    return CHASSIS if slot.chassis else slot.gpu_uuid


def _check_free(db: sqlite3.Connection, node: str, allocation_id: str, slot: Slot) -> None:
    row = db.execute(
        "SELECT d.allocation_id, r.runtime_id FROM devices d LEFT JOIN runtimes r"
        " USING (node, allocation_id) WHERE node = ? AND device = ?",
        (node, device(slot)),
    ).fetchone()
    if row is None or row[0] == allocation_id:
        return
    state = "in use by" if row[1] else "not clean after"
    raise HostFailed(f"slot {slot.id} is {state} {row[0]}")


def _check_shape(db: sqlite3.Connection, node: str, lease: Lease) -> None:
    """A whole host and a slice of it never run together, and no lease changes its devices."""
    others = db.execute(
        "SELECT allocation_id FROM runtimes WHERE node = ? AND allocation_id <> ?"
        " AND ? IN (shape, ?)",
        (node, lease.allocation_id, Shape.BAREMETAL, lease.shape),
    ).fetchone()
    if others:
        raise HostFailed(f"the node runs {others[0]}; a whole host is never shared")
    held = _held(db, node, lease.allocation_id)
    if held and held != {device(slot) for slot in lease.slots}:
        raise HostFailed(f"{lease.allocation_id} already holds other devices of this node")


def _held(db: sqlite3.Connection, node: str, allocation_id: str) -> set[str]:
    rows = db.execute(
        "SELECT device FROM devices WHERE node = ? AND allocation_id = ?", (node, allocation_id)
    )
    return {row[0] for row in rows}
