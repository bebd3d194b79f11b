"""The release saga: stop → clean.

It only goes forward: what fails is tried again. A node that is away is waited for, and asked
again when it is back. A node that answers but cannot clean leaves its slots blocked, and
central says why.
"""

from typing import Final

from penstock.kernel.db import Tx
from penstock.site.leases import hands, service, store
from penstock.site.leases.saga import Saga, Step, StepFailed, Superseded
from penstock.site.leases.store import Lease
from penstock.site.nodes import presence, reenrolment
from penstock.site.tasks.service import NoAnswer, Tasks
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.wire_pb2 import TaskResult

NAME: Final = "release"
FAILURES_MAX: Final = 3


class Release:
    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._database = tasks.database
        self.saga = Saga(
            NAME,
            (
                Step(NAME, "stop", self.stop),
                Step(NAME, "clean", self.clean),
            ),
            self.failed,
            forward=True,
        )

    async def stop(self, lease: Lease) -> None:
        """From here on the tenant no longer pays: what is left is ours to do."""

        async def work(tx: Tx) -> None:
            await service.report_observed(tx, lease, wire.OBSERVED_STOPPING)
            await service.report_step(tx, lease, NAME, "stop", wire.STEP_STATUS_DONE)

        await self._database.run(work, correlation_id=lease.document.correlation_id)

    async def clean(self, lease: Lease) -> None:
        """The node destroys the runtime, cleans every slot, and proves it.

        The proofs go to central, which alone decides what they are worth.
        """
        result = await self._ask(lease)
        if result.status != wire.TASK_STATUS_DONE:
            raise StepFailed(result.reason or wire.TaskStatus.Name(result.status))

        async def work(tx: Tx) -> None:
            await service.report_observed(tx, lease, wire.OBSERVED_RELEASED)
            if await service.report_step(tx, lease, NAME, "clean", wire.STEP_STATUS_DONE):
                service.report_cleanup(tx, lease, list(result.cleanup.proofs))

        await self._database.run(work, correlation_id=lease.document.correlation_id)

    async def _ask(self, lease: Lease) -> TaskResult:
        """The node's last answer. Repeating this asks nothing twice: an attempt is a task."""

        async def begin(tx: Tx) -> None:
            if (await store.get(tx, lease.id)).revision != lease.revision:
                raise Superseded
            if await presence.is_retired(tx, lease.document.node_id):
                raise StepFailed("its node is retired, so nobody can clean it")
            await service.report_step(tx, lease, NAME, "clean", wire.STEP_STATUS_STARTED)

        attempt = failures = 0
        while True:
            attempt += 1
            task = hands.release(lease.document, attempt)
            try:
                result = await self._tasks.perform(
                    task, lease.id, begin, lease.document.correlation_id
                )
            except NoAnswer:
                await self._until_connected(lease)
                continue
            if result.status == wire.TASK_STATUS_EXPIRED:
                continue
            failures += result.status != wire.TASK_STATUS_DONE
            if result.status == wire.TASK_STATUS_DONE or failures == FAILURES_MAX:
                return result

    async def _until_connected(self, lease: Lease) -> None:
        """Or until a newer document came: then the next attempt ends by it."""

        async def worth_asking(tx: Tx) -> bool:
            if (await store.get(tx, lease.id)).revision != lease.revision:
                return True
            node_id = lease.document.node_id
            return await presence.is_connected(tx, node_id) or await presence.is_retired(
                tx, node_id
            )

        node_id = lease.document.node_id
        told = (
            presence.back(node_id), reenrolment.changed(node_id), service.superseded(lease.id),
        )  # fmt: skip
        with self._tasks.wakeups.subscribe(*told) as wakeup:
            while not await self._database.run(worth_asking):
                await wakeup.wait()

    async def failed(self, lease: Lease, reason: str) -> None:
        """No proof: central blocks the slots and says so."""

        async def work(tx: Tx) -> None:
            failed = wire.STEP_STATUS_FAILED
            if await service.report_step(tx, lease, NAME, "clean", failed, reason):
                service.report_cleanup(tx, lease, [], reason)

        await self._database.run(work, correlation_id=lease.document.correlation_id)
