"""A `Host` over the simulated world, with the delays and faults it is told to have."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace

from penstock_agent.database import Database
from penstock_agent.simulated import cleaning, symptoms, world
from penstock_agent.simulated.faults import Action, Fault, Faults, Lie, Task
from penstock_agent.simulated.hardware import Hardware
from penstock_contracts.drivers.host import Cleaning, Devices, Fact, Holding, Runtime, Step
from penstock_contracts.drivers.lease import Lease, Shape, Slot
from penstock_contracts.wire_pb2 import Topology


@dataclass(frozen=True)
class SimulatedHost:
    name: str
    hardware: Hardware
    database: Database  # the simulated world
    faults: Faults
    delay_s: float = 0.0

    def devices(self) -> Devices:
        return self.hardware.devices

    async def discover(self) -> Topology:
        fault = await self._begin(Task.TOPOLOGY_DISCOVER)
        topology = self.hardware.topology(fault.step if fault else None)
        _die_if_told(fault)
        return topology

    async def provision(self, lease: Lease) -> Runtime:
        whole = lease.shape is Shape.BAREMETAL
        fault = await self._begin(Task.BAREMETAL_ASSIGN if whole else Task.VM_PROVISION)
        gpu_uuids = tuple(slot.gpu_uuid for slot in lease.slots if slot.gpu_uuid)
        if fault and fault.lie:
            others = sorted(self.devices().gpu_uuids - set(gpu_uuids)) or ["GPU-none"]
            claimed = tuple(others) if fault.lie is Lie.WRONG_GPUS else gpu_uuids
            return Runtime("vm-that-never-was", claimed)
        runtime_id = await self.database.run(lambda db: world.occupy(db, self.name, lease))
        if fault and fault.fault is Action.END_RUNTIME:
            await self._end(lease.allocation_id)
        _die_if_told(fault)
        return Runtime(runtime_id, gpu_uuids)

    async def release(self, lease: Lease) -> Sequence[Cleaning]:
        whole = lease.shape is Shape.BAREMETAL
        fault = await self._begin(Task.BAREMETAL_RELEASE if whole else Task.VM_RELEASE)
        if fault and fault.lie:
            return [_lie(_honest(slot, lease.shape), fault.lie) for slot in lease.slots]
        if await self.database.run(lambda db: world.vacate(db, self.name, lease)):
            self.faults.stir()
        failing = fault.step if fault else ""
        cleanings = [_honest(slot, lease.shape, failing) for slot in lease.slots]
        for slot, done in zip(lease.slots, cleanings, strict=True):
            if all(step.passed for step in done.steps):
                await self._clean(slot)
        _die_if_told(fault)
        return cleanings

    async def holds(self) -> Sequence[Holding]:
        return await self.database.run(lambda db: world.holdings(db, self.name))

    async def watch(self) -> AsyncGenerator[Fact]:
        told: dict[tuple[str, str], Fact] = {}
        while True:
            seen = self.faults.stirred.value  # before looking: what comes meanwhile wakes us
            ended = await self.database.run(lambda db: world.ended(db, self.name))
            now = symptoms.of(self.hardware, self.faults.ailments(self.name), ended)
            for fact in symptoms.changes(told, now):
                yield fact
            told = now
            await self.faults.stirred.beyond(seen)

    async def _end(self, allocation_id: str) -> None:
        why = "injected fault: it ended by itself"
        await self.database.run(lambda db: world.end(db, self.name, allocation_id, why))
        self.faults.stir()

    async def _clean(self, slot: Slot) -> None:
        await self.database.run(lambda db: world.clean(db, self.name, slot))

    async def _begin(self, task: Task) -> Fault | None:
        """Take the time that the work takes, and fail or hang if told to."""
        fault = await self.faults.take(self.name, task)
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        if fault and fault.fault is Action.HANG:
            await asyncio.Event().wait()
        if fault and fault.fault is Action.FAIL:
            raise fault.error()
        return fault


def _honest(slot: Slot, shape: Shape, failing: str = "") -> Cleaning:
    return Cleaning(slot.id, slot.fence, slot.nonce, cleaning.perform(slot, shape, failing))


def _lie(truth: Cleaning, lie: Lie) -> Cleaning:
    steps: tuple[Step, ...] = tuple(replace(step, passed=True) for step in truth.steps)
    claimed = replace(truth, steps=steps)
    match lie:
        case Lie.OMIT_STEP:
            return replace(claimed, steps=steps[:-1])
        case Lie.WRONG_FENCE:
            return replace(claimed, fence=truth.fence - 1)
        case Lie.WRONG_NONCE:
            return replace(claimed, nonce=bytes(len(truth.nonce)))
        case Lie.NOTHING | Lie.WRONG_GPUS:
            return claimed


def _die_if_told(fault: Fault | None) -> None:
    if fault and fault.fault is Action.DIE_AFTER:
        os.kill(os.getpid(), signal.SIGKILL)
