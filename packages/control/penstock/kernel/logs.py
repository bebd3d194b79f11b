"""Where each log begins: what was before is trimmed, and the chain of hashes goes on from there."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from penstock.kernel.db import Tx

SEQ_MAX: Final = 2**63 - 1
READ: Final = "SELECT seq, hash, at FROM log_starts WHERE log = $1"
LOCKED: Final = "SELECT seq, hash, at FROM log_starts WHERE log = $1 FOR UPDATE"


@dataclass(frozen=True)
class Start:
    """The last entry that was trimmed; all that the log has comes after it."""

    seq: int
    hash: bytes
    at: datetime | None


@dataclass(frozen=True)
class Row:
    """An entry of a log as text, to be exported."""

    seq: int
    at: datetime
    entry: str


async def start(tx: Tx, log: str, *, lock: bool = False) -> Start:
    row = await tx.fetchrow(
        LOCKED if lock else READ,
        log,
    )
    if row is None:
        raise LookupError(f"there is no log {log!r}")
    return Start(row["seq"], bytes(row["hash"]), row["at"])


async def move(tx: Tx, log: str, to: Start) -> None:
    """Have the log begin later. The database refuses what must not be trimmed."""
    await tx.execute(
        "UPDATE log_starts SET seq = $2, hash = $3, at = $4 WHERE log = $1",
        log,
        to.seq,
        to.hash,
        to.at,
    )
