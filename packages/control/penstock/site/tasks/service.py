"""Tasks for nodes: signed by the site, answered by the node, each answered once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from penstock.kernel import db, feed, wakeups
from penstock.kernel.db import Database, Tx
from penstock.kernel.feed import Rejected
from penstock.kernel.wakeups import Wakeups
from penstock.site.tasks import holdings, store
from penstock_contracts import identity
from penstock_contracts.failpoints import Failpoint
from penstock_contracts.identity import PrivateKey
from penstock_contracts.ids import NodeId
from penstock_contracts.wire_pb2 import Signed, Task, TaskResult

# A node answers at its deadline at the latest; an answer may take a little to arrive.
GRACE: Final = timedelta(seconds=10)

TAKEN: Final = Failpoint("site.result.taken")  # and not yet committed


class NoAnswer(Exception):
    """The node did not answer in time. What it did is not known."""


@dataclass(frozen=True)
class Answer:
    result: TaskResult
    known: bool  # it was there before it was asked for this time


@dataclass(frozen=True)
class Tasks:
    """What it takes to have a task done."""

    database: Database
    wakeups: Wakeups
    key: PrivateKey = field(repr=False)
    deadline: timedelta

    async def ask(self, tx: Tx, task: Task, allocation_id: str | None = None) -> None:
        """Have the task done; the second time it is asked for, nothing happens."""
        deadline = tx.now + self.deadline
        if await store.add(tx, task.task_id, task.node_id, allocation_id, deadline):
            task.issued_at_us = db.to_us(tx.now)
            task.deadline_us = db.to_us(deadline)
            task.correlation_id = tx.correlation_id
            signed = self.key.sign(task.SerializeToString())
            feed.append(tx, orders(task.node_id), signed.SerializeToString())
            await holdings.asked(tx, task)

    async def perform(
        self,
        task: Task,
        allocation_id: str,
        begin: Callable[[Tx], Awaitable[None]],
        correlation_id: str,
    ) -> TaskResult:
        """What the node answers."""
        return (await self.answer(task, allocation_id, begin, correlation_id)).result

    async def answer(
        self,
        task: Task,
        allocation_id: str,
        begin: Callable[[Tx], Awaitable[None]],
        correlation_id: str,
    ) -> Answer:
        """Ask, in one transaction with `begin`, and wait for the answer. Safe to repeat."""

        async def work(tx: Tx) -> None:
            await begin(tx)
            await self.ask(tx, task, allocation_id)

        loop = asyncio.get_running_loop()
        with self.wakeups.subscribe(answered(task.task_id)) as wakeup:
            await self.database.run(work, correlation_id=correlation_id)
            began = loop.time()
            known = True
            while True:
                signed, left_s = await self.database.run(lambda tx: self._result(tx, task.task_id))
                if signed is not None:
                    return Answer(TaskResult.FromString(Signed.FromString(signed).payload), known)
                known = False
                # After an outage of ours the answer may be on its way: wait a little anyway.
                left_s = max(left_s, GRACE.total_seconds() - (loop.time() - began))
                if left_s <= 0:
                    raise NoAnswer(f"the node did not answer task {task.task_id} in time")
                try:
                    async with asyncio.timeout(left_s):
                        await wakeup.wait()
                except TimeoutError:
                    continue

    async def _result(self, tx: Tx, id: str) -> tuple[bytes | None, float]:
        signed, deadline = await store.result(tx, id)
        return signed, (deadline + GRACE - tx.now).total_seconds()


def orders(node_id: str) -> str:
    """The feed of tasks for a node."""
    return f"node:{node_id}"


def answered(task_id: str) -> str:
    """What is told when a task is answered."""
    return f"task:{task_id}"


def verified(node_id: NodeId, key: bytes, body: bytes) -> TaskResult:
    """What the node says: its key signed it, and it speaks for no other."""
    signed = Signed.FromString(body)
    result = TaskResult.FromString(identity.verify(key, signed))
    if result.node_id != node_id:
        raise Rejected(f"node {node_id} answered for node {result.node_id[:64]!r}")
    return result


async def finish(tx: Tx, result: TaskResult, body: bytes) -> bool:
    """Take a node's answer; whether it is the first."""
    if not await store.finish(tx, result.task_id, result.node_id, body):
        return False
    await holdings.answered(tx, result)
    wakeups.notify(tx, answered(result.task_id))
    TAKEN.hit()
    return True


async def forget(tx: Tx, before: datetime, limit: int) -> int:
    """Delete old tasks, so many at most; how many they were. Nobody waits beyond a deadline, and
    who asks for a task once more, long after, has it done once more."""
    return await store.forget(tx, before, limit)
