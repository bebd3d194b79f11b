"""A node without its link: a real journal, executor and simulated host, and a site's pen."""

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from penstock_agent import database, executor, journal, profiles
from penstock_agent.executor import Node
from penstock_agent.simulated import hardware, world
from penstock_agent.simulated.faults import Fault, Faults, Listed
from penstock_agent.simulated.simulated_host import SimulatedHost
from penstock_contracts import identity, link
from penstock_contracts.identity import PrivateKey
from penstock_contracts.ids import AllocationId, NodeId, SlotId
from penstock_contracts.wire_pb2 import (
    SHAPE_BAREMETAL,
    SHAPE_GPU_SLICE,
    CleanupProof,
    Entry,
    HoldsList,
    LeaseTask,
    Shape,
    Signed,
    SlotBinding,
    Task,
    TaskResult,
    TopologyDiscover,
)

STEPS: Final = ("runtime.destroyed", "gpu.memory_cleared", "gpu.reset", "nvme.erased")
MINUTE_US: Final = 60_000_000
HARDWARE: Final = hardware.build(profiles.load("h100-8"), b"seed", "node-0001", 1)


def now_us() -> int:
    return time.time_ns() // 1000


@dataclass
class Pen:
    """Writes and signs tasks as the node's site would."""

    node_id: str = field(default_factory=NodeId.new)
    site_key: PrivateKey = field(default_factory=PrivateKey.generate)
    node_key: PrivateKey = field(default_factory=PrivateKey.generate)
    slots: list[str] = field(default_factory=lambda: [SlotId.new() for _ in range(9)])
    read: int = 0  # how far the site has read the node's results
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def gpu(self, index: int, fence: int = 1, nonce: bytes = b"") -> SlotBinding:
        proposed = HARDWARE.slots[index]
        return SlotBinding(
            slot_id=self.slots[index],
            fence=fence,
            index=index,
            gpu_uuid=proposed.gpu_uuid,
            nvme_serial=proposed.nvme_serial,
            fabric_guid=proposed.fabric_guid,
            cleanup_nonce=nonce,
            cleanup_steps=STEPS,
        )

    def chassis(self, fence: int = 1, nonce: bytes = b"") -> SlotBinding:
        steps = ["host.reimaged", "firmware.verified"]
        return SlotBinding(
            slot_id=self.slots[8],
            fence=fence,
            chassis=True,
            cleanup_nonce=nonce,
            cleanup_steps=steps,
        )

    def discover(self) -> Task:
        return self.task(Task(discover=TopologyDiscover()))

    def holds(self) -> Task:
        return self.task(Task(holds=HoldsList()))

    def provision(self, allocation: str, *slots: SlotBinding) -> Task:
        return self.task(Task(provision=_lease(allocation, SHAPE_GPU_SLICE, slots)))

    def release(self, allocation: str, *slots: SlotBinding) -> Task:
        return self.task(Task(release=_lease(allocation, SHAPE_GPU_SLICE, slots)))

    def assign(self, allocation: str, *slots: SlotBinding) -> Task:
        return self.task(Task(provision=_lease(allocation, SHAPE_BAREMETAL, slots)))

    def unassign(self, allocation: str, *slots: SlotBinding) -> Task:
        return self.task(Task(release=_lease(allocation, SHAPE_BAREMETAL, slots)))

    def sign(self, task: Task) -> bytes:
        return self.site_key.sign(task.SerializeToString()).SerializeToString()

    def verified(self, body: bytes) -> TaskResult:
        payload = identity.verify(self.node_key.public(), Signed.FromString(body))
        return TaskResult.FromString(payload)

    def proofs(self, result: TaskResult) -> list[CleanupProof]:
        key = self.node_key.public()
        signed = result.cleanup.proofs
        return [CleanupProof.FromString(identity.verify(key, proof)) for proof in signed]

    def task(self, task: Task) -> Task:
        task.task_id = f"task-{next(self.numbers)}"
        task.node_id = self.node_id
        task.deadline_us = now_us() + MINUTE_US
        return task


def _lease(allocation: str, shape: Shape, slots: Sequence[SlotBinding]) -> LeaseTask:
    return LeaseTask(allocation_id=allocation, shape=shape, slots=slots)


class Stage:
    def __init__(self, pen: Pen, node: Node, faults: Faults) -> None:
        self.pen = pen
        self.node = node
        self.journal = node.journal
        self.host = node.host
        self.faults = faults

    async def order(self, *tasks: Task) -> None:
        await self.send(*(self.pen.sign(task) for task in tasks))

    async def send(self, *bodies: bytes) -> None:
        cursor = await self.journal.cursor()
        await self.journal.apply(
            [
                Entry(seq=cursor + i, previous=cursor + i - 1, body=b)
                for i, b in enumerate(bodies, 1)
            ]
        )

    async def result(self) -> TaskResult:
        """The next result; acknowledged, as a site would."""
        async with asyncio.timeout(5):
            entries: Sequence[link.Outgoing] = ()
            while not entries:
                await self.journal.wait(self.pen.read)
                entries = await self.journal.read(self.pen.read, 1)
        self.pen.read = entries[0].seq
        await self.journal.acknowledge(self.pen.read)
        return self.pen.verified(entries[0].body)

    async def results(self, *tasks: Task) -> list[TaskResult]:
        """Order, and wait for as many results; in the order of the tasks."""
        await self.order(*tasks)
        found = {result.task_id: result for result in [await self.result() for _ in tasks]}
        return [found[task.task_id] for task in tasks]

    async def do(self, task: Task) -> TaskResult:
        return (await self.results(task))[0]


@asynccontextmanager
async def stage(
    folder: Path, pen: Pen, *listed: Fault, delay_s: float = 0
) -> AsyncGenerator[Stage]:
    """A running executor. Entering again with the same folder and pen is a restart."""
    with (
        database.opened(folder / "journal.db", journal.SCHEMA) as kept,
        database.opened(folder / "world.db", world.SCHEMA) as simulated,
    ):
        faults = Faults(simulated, Listed(listed))
        own = await journal.of_node(kept, pen.node_id)
        host = SimulatedHost("node-0001", HARDWARE, simulated, faults, delay_s)
        node = Node(
            id=pen.node_id,
            key=pen.node_key,
            task_key=pen.site_key.public(),
            journal=own,
            host=host,
        )
        running = asyncio.create_task(executor.run(node))
        try:
            yield Stage(pen, node, faults)
        finally:
            running.cancel()
            await asyncio.wait([running])
            if not running.cancelled():
                running.result()  # the executor failed: that is what the test must show


def allocation() -> str:
    return AllocationId.new()
