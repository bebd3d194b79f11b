"""Waiting for what a database will say. Every change there tells, so nothing is polled."""

import time
from collections.abc import Sequence
from typing import Final, LiteralString

import psycopg

from penstock.kernel.outgoing import CHANNEL

WAIT_S_MAX: Final = 90.0
RECONNECT_S: Final = 0.2
# Not every row that a test waits for tells of itself (a cursor that moved, say).
LOOK_AGAIN_S: Final = 1.0

Row = tuple[object, ...]


class NeverHappened(AssertionError):
    """What a test waited for did not become true in time."""


def until(url: str, sql: LiteralString, *args: object, within_s: float = WAIT_S_MAX) -> Row:
    """The first row, once there is one. Survives the database's own death."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            if row := _listen(url, sql, args, deadline):
                return row
        except psycopg.OperationalError:
            time.sleep(RECONNECT_S)  # nobody tells when a dead database is back
    raise NeverHappened(f"after {within_s:.0f} s there is still no row for: {sql} {args}")


def _listen(url: str, sql: LiteralString, args: Sequence[object], deadline: float) -> Row | None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"LISTEN {CHANNEL}")
        while (left_s := deadline - time.monotonic()) > 0:
            if row := connection.execute(sql, args).fetchone():
                return row
            for _ in connection.notifies(timeout=min(left_s, LOOK_AGAIN_S), stop_after=1):
                pass
    return None


def rows(url: str, sql: LiteralString, *args: object) -> list[Row]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(sql, args).fetchall()
