"""The logs that are exported when they are trimmed: what happened, and the fleet's."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from penstock.central import fleet_history
from penstock.kernel import events, outgoing
from penstock.kernel.db import Tx
from penstock.kernel.logs import SEQ_MAX, Row


@dataclass(frozen=True)
class EventLog:
    name: str = outgoing.EVENTS

    async def rows(self, tx: Tx, after: int, before: datetime, limit: int) -> Sequence[Row]:
        return await events.rows(tx, after, before, limit)

    async def held(self, tx: Tx) -> tuple[int, str]:
        handled, consumer = await events.unhandled(tx)
        return handled, f"consumer {consumer} has handled events up to {handled}"

    async def trim(self, tx: Tx, after: int, until: int) -> int:
        return await events.trim(tx, until)


@dataclass(frozen=True)
class FleetLog:
    """With receipts, and with the cleanup proofs of what was freed."""

    name: str = fleet_history.LOG

    async def rows(self, tx: Tx, after: int, before: datetime, limit: int) -> Sequence[Row]:
        return await fleet_history.rows(tx, after, before, limit)

    async def held(self, tx: Tx) -> tuple[int, str]:
        return SEQ_MAX, ""

    async def trim(self, tx: Tx, after: int, until: int) -> int:
        return await fleet_history.trim(tx, after, until)
