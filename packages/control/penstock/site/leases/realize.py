"""The realize saga: provision → announce.

A lease is active when its node proved, signed, that the tenant has exactly the GPUs that
were claimed for it.
"""

from itertools import count
from typing import NoReturn

from penstock.kernel.db import Tx
from penstock.site.documents import service as documents
from penstock.site.leases import hands, reporting
from penstock.site.leases.model import Lease
from penstock.site.sagas.model import Saga, Step, StepFailed, StepTransient
from penstock.site.tasks.service import NoAnswer, Tasks
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.drivers import fault_names, faults
from penstock_contracts.wire_pb2 import RuntimeUp, TaskResult

NAME = "realize"
UNDO_ATTEMPTS_MAX = 3


class Realize:
    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._database = tasks.database
        self.saga = Saga(
            NAME,
            (
                Step("provision", self.provision, self.unprovision),
                Step("announce", self.announce),
            ),
            self.failed,
        )

    async def provision(self, lease: Lease) -> None:
        """The node makes the runtime and hands over exactly the GPUs that were claimed. An attempt
        is a task: one that the host said may be repeated is passed over when this runs again."""

        async def begin(tx: Tx) -> None:
            await documents.still_wanted(tx, lease.document)
            await reporting.step(tx, lease, NAME, "provision", wire.STEP_STATUS_STARTED)

        for attempt in count(1):
            task = hands.provision(lease.desired, attempt)
            try:
                answer = await self._tasks.answer(
                    task, lease.id, begin, lease.document.correlation_id
                )
            except NoAnswer as silence:  # its deadline passed: the same task is never answered
                raise StepFailed(str(silence)) from silence
            if answer.result.status == wire.TASK_STATUS_DONE:
                _verify(lease, answer.result.runtime)
                return
            if not (answer.known and may_be_repeated(answer.result)):
                await self._give_up(lease, answer.result)

    async def _give_up(self, lease: Lease, result: TaskResult) -> NoReturn:
        await self._database.run(lambda tx: documents.still_wanted(tx, lease.document))
        why = result.reason or wire.TaskStatus.Name(result.status)
        raise StepTransient(why) if may_be_repeated(result) else StepFailed(why)

    async def unprovision(self, lease: Lease) -> None:
        """Whatever the node made for the lease is destroyed.

        If the node cannot say so, the lease's slots stay claimed until it proves cleanup.
        """

        async def begin(tx: Tx) -> None:
            await reporting.step(tx, lease, NAME, "unprovision", wire.STEP_STATUS_STARTED)

        reason = ""
        for attempt in range(1, UNDO_ATTEMPTS_MAX + 1):
            task = hands.undo_provision(lease.desired, attempt)
            try:
                result = await self._tasks.perform(
                    task, lease.id, begin, lease.document.correlation_id
                )
            except NoAnswer as silence:
                reason = str(silence)
                continue
            if result.status == wire.TASK_STATUS_DONE:
                await self._report(lease, "unprovision", wire.STEP_STATUS_UNDONE)
                return
            reason = result.reason
        await self._report(lease, "unprovision", wire.STEP_STATUS_FAILED, reason)

    async def announce(self, lease: Lease) -> None:
        """The lease is active, as of now, unless it is no longer wanted."""

        async def work(tx: Tx) -> None:
            await documents.still_wanted(tx, lease.document)
            await reporting.step(tx, lease, NAME, "provision", wire.STEP_STATUS_DONE)
            await reporting.observed(tx, lease, wire.OBSERVED_ACTIVE)
            await reporting.step(tx, lease, NAME, "announce", wire.STEP_STATUS_DONE)

        await self._database.run(work, correlation_id=lease.document.correlation_id)

    async def failed(self, lease: Lease, reason: str) -> None:
        async def work(tx: Tx) -> None:
            await reporting.step(tx, lease, NAME, "fail", wire.STEP_STATUS_FAILED, reason)
            await reporting.observed(tx, lease, wire.OBSERVED_FAILED, reason)

        await self._database.run(work, correlation_id=lease.document.correlation_id)

    async def _report(
        self, lease: Lease, step: str, status: wire.StepStatus, detail: str = ""
    ) -> None:
        await self._database.run(
            lambda tx: reporting.step(tx, lease, NAME, step, status, detail),
            correlation_id=lease.document.correlation_id,
        )


def may_be_repeated(result: TaskResult) -> bool:
    """Whether the host failed with a fault after which the same call may be right again."""
    fault = fault_names.BY_NAME.get(result.fault)
    return fault is not None and not issubclass(fault, faults.FINAL)


def _verify(lease: Lease, runtime: RuntimeUp) -> None:
    """What the node says it handed over is what was claimed, no more and no less."""
    claimed = hands.gpus(list(lease.desired.slots))
    if runtime.allocation_id != lease.id or set(runtime.gpu_uuids) != claimed:
        raise StepFailed("the node handed over other GPUs than those that were claimed")
