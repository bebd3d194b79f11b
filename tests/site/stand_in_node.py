"""A node that answers its tasks from the database, with a real key, as a test wants it to."""

from penstock.kernel.db import Database, Tx
from penstock.kernel.feed import Outbox
from penstock.kernel.wakeups import Wakeups
from penstock.site.nodes import store
from penstock.site.nodes.model import Node
from penstock.site.tasks import service as tasks
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.identity import PrivateKey
from penstock_contracts.ids import NodeId


class StandInNode:
    def __init__(self) -> None:
        self.key = PrivateKey.generate()
        self.id = NodeId.new()
        self.cursor = 0
        self.asked: list[str] = []
        self.silent: set[str] = set()  # leases of which it says nothing
        self.fails: dict[str, str] = {}  # why, by the beginning of a task's id
        self.faults: dict[str, list[str]] = {}  # of a lease's provision, one after the other

    @property
    def node(self) -> Node:
        return Node(self.id, "n1", self.key.public())

    async def enrol(self, tx: Tx) -> None:
        await store.add(tx, self.node)

    async def answer(self, database: Database, wakeups: Wakeups) -> None:
        with Outbox(database, wakeups, tasks.orders(self.id)) as outbox:
            while True:
                for entry in await outbox.read(self.cursor, 64):
                    self.cursor = entry.seq
                    task = wire.Task.FromString(wire.Signed.FromString(entry.body).payload)
                    await self._answer(database, task)
                await outbox.wait(self.cursor)

    async def _answer(self, database: Database, task: wire.Task) -> None:
        self.asked.append(task.task_id)
        _, lease, *_ = task.task_id.split(":")
        if lease in self.silent:
            return
        body = self.key.sign(self._result(task, lease).SerializeToString()).SerializeToString()

        async def finish(tx: Tx) -> None:
            result = tasks.verified(self.node.id, self.node.public_key, body)
            await tasks.finish(tx, result, body)

        await database.run(finish)

    def _result(self, task: wire.Task, lease: str) -> wire.TaskResult:
        result = wire.TaskResult(
            task_id=task.task_id, node_id=self.id, status=wire.TASK_STATUS_DONE
        )
        why = next((why for id, why in self.fails.items() if task.task_id.startswith(id)), "")
        raised = self.faults.get(lease) if task.HasField("provision") else None
        if raised:
            result.status, result.reason = wire.TASK_STATUS_FAILED, "it is busy"
            result.fault = raised.pop(0)
        elif why:
            result.status, result.reason = wire.TASK_STATUS_FAILED, why
        elif task.task_id.startswith("provision:"):
            result.runtime.allocation_id = lease
            result.runtime.gpu_uuids.append("GPU-1")
        else:
            result.cleanup.allocation_id = lease
            result.cleanup.proofs.append(self.key.sign(b"clean"))
        return result

    def tasks_of(self, lease: str) -> list[str]:
        """The verbs that it was asked for, in order."""
        return [id.partition(":")[0] for id in self.asked if f":{lease}:" in id]
