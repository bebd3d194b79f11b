"""What a node received, did and owes its site, on disk. Nothing here is lost by a crash.

One file serves all nodes of a process; each sees only its own rows.
"""

import sqlite3
from collections.abc import Sequence
from typing import Final, TypeVar

from penstock_agent import store
from penstock_agent.database import Database, Work
from penstock_agent.marks import Mark
from penstock_agent.orders import Order
from penstock_contracts import link
from penstock_contracts.failpoints import Failpoint
from penstock_contracts.wire_pb2 import Entry

SCHEMA: Final = store.SCHEMA
Pending = store.Pending
FORGET_EVERY_US: Final = 3600 * 1_000_000
RECEIVED: Final = Failpoint("agent.task.received")

T = TypeVar("T")


class NodeJournal:
    """One node's part of the journal. To the link it is the node's outbox and inbox."""

    def __init__(self, database: Database, node_id: str, start: store.Positions) -> None:
        self._database = database
        self._node_id = node_id
        self._received = Mark(start.received)
        self._sent = Mark(start.sent)
        self._forget_at_us = 0

    # ------------------------------------------------------------ link.Inbox

    async def cursor(self) -> int:
        return self._received.value

    async def apply(self, entries: Sequence[Entry]) -> int:
        cursor = await self._run(lambda db: store.receive(db, self._node_id, entries))
        RECEIVED.hit()
        self._received.reach(cursor)
        return cursor

    # ----------------------------------------------------------- link.Outbox

    async def read(self, after: int, limit: int) -> Sequence[link.Outgoing]:
        return await self._run(lambda db: store.unsent(db, self._node_id, after, limit))

    async def wait(self, after: int) -> None:
        await self._sent.beyond(after)

    async def acknowledge(self, seq: int) -> None:
        await self._run(lambda db: store.acknowledge(db, self._node_id, seq))

    async def head(self) -> int:
        return (await self._run(lambda db: store.positions(db, self._node_id))).sent

    async def renumber(self, after: int) -> None:
        self._sent.reach(await self._run(lambda db: store.renumber(db, self._node_id, after)))

    # ---------------------------------------------------------- the executor

    async def pending(self, after: int, limit: int) -> list[Pending]:
        """Entries that are not done, in order of arrival."""
        return await self._run(lambda db: store.pending(db, self._node_id, after, limit))

    async def arrival(self, after: int) -> None:
        """Return once there may be an entry after `after`; never miss one."""
        await self._received.beyond(after)

    async def repeat(self, seq: int, task_id: str) -> bool:
        """Answer entry `seq` with its task's first result. False if it has none yet."""

        def work(db: sqlite3.Connection) -> int | None:
            first = store.first_result(db, self._node_id, task_id)
            return None if first is None else store.answer(db, self._node_id, seq, first)

        sent = await self._run(work)
        self._sent.reach(sent or 0)
        return sent is not None

    async def admit(self, order: Order) -> str | None:
        """Put the order's fences in force, durably; or say why they cannot be."""
        return await self._run(lambda db: store.admit(db, self._node_id, order))

    async def finish(self, seq: int, task_id: str, body: bytes, at_us: int) -> None:
        """Keep the signed result of entry `seq` and send it: one transaction. Now and then, old
        results go with it: an agent may run for years."""
        forget = at_us >= self._forget_at_us
        self._forget_at_us = max(self._forget_at_us, at_us + FORGET_EVERY_US if forget else 0)

        def work(db: sqlite3.Connection) -> int:
            if forget:
                store.forget_old_results(db, at_us)
            return store.finish(db, self._node_id, seq, task_id, body, at_us)

        self._sent.reach(await self._run(work))

    async def say_health(self, told: bytes, body: bytes) -> None:
        """Send a signed health, if it is another than the one that was sent last."""
        sent = await self._run(lambda db: store.say_health(db, self._node_id, told, body))
        self._sent.reach(sent)

    async def _run(self, work: Work[T]) -> T:
        return await self._database.run(work)


async def of_node(database: Database, node_id: str) -> NodeJournal:
    start = await database.run(lambda db: store.positions(db, node_id))
    return NodeJournal(database, node_id, start)


async def forget_old_results(database: Database, now_us: int) -> None:
    """Nobody repeats a task after a month; the file must not grow for ever."""
    await database.run(lambda db: store.forget_old_results(db, now_us))
