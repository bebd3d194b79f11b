"""Telling that those who wait for room should be looked at again. `placement/rounds.py` does."""

from typing import Final

from penstock.kernel import wakeups
from penstock.kernel.db import Tx

NUDGED: Final = "backlog"
BEGUN: Final = "backlog.begun"


def nudge(tx: Tx) -> None:
    """Have those who wait looked at again, by every replica, when this transaction commits."""
    wakeups.notify(tx, NUDGED)


def begin(tx: Tx) -> None:
    """Someone began to wait and was decided upon; only their time must be watched from now on."""
    wakeups.notify(tx, BEGUN)
