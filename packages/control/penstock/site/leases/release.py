"""The release saga: stop → clean.

It only goes forward: what fails is tried again. A node that is away is waited for, and asked
again when it is back. A node that answers but cannot clean leaves its slots blocked, and
central says why.
"""

from typing import Final

from penstock.kernel.db import Tx
from penstock.site.documents import service as documents
from penstock.site.leases import hands, reporting
from penstock.site.leases.model import Lease
from penstock.site.nodes import presence, reenrolment
from penstock.site.sagas.model import FOR_EVER, Saga, Step, StepFailed
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
                Step("stop", self.stop, retries=FOR_EVER),
                Step("clean", self.clean, retries=FOR_EVER),
            ),
            self.failed,
        )

    async def stop(self, lease: Lease) -> None:
        """From here on the tenant no longer pays: what is left is ours to do."""

        async def work(tx: Tx) -> None:
            await reporting.observed(tx, lease, wire.OBSERVED_STOPPING)
            await reporting.step(tx, lease, NAME, "stop", wire.STEP_STATUS_DONE)

        await self._database.run(work, correlation_id=lease.document.correlation_id)

    async def clean(self, lease: Lease) -> None:
        """The node destroys the runtime, cleans every slot, and proves it.

        The proofs go to central, which alone decides what they are worth.
        """
        result = await self._ask(lease)
        if result.status != wire.TASK_STATUS_DONE:
            raise StepFailed(result.reason or wire.TaskStatus.Name(result.status))

        async def work(tx: Tx) -> None:
            await reporting.observed(tx, lease, wire.OBSERVED_RELEASED)
            if await reporting.step(tx, lease, NAME, "clean", wire.STEP_STATUS_DONE):
                reporting.cleanup(tx, lease, list(result.cleanup.proofs))

        await self._database.run(work, correlation_id=lease.document.correlation_id)

    async def _ask(self, lease: Lease) -> TaskResult:
        """The node's last answer. Repeating this asks nothing twice: an attempt is a task."""

        async def begin(tx: Tx) -> None:
            await documents.still_wanted(tx, lease.document, lock=False)
            if await presence.is_retired(tx, lease.desired.node_id):
                raise StepFailed("its node is retired, so nobody can clean it")
            await reporting.step(tx, lease, NAME, "clean", wire.STEP_STATUS_STARTED)

        attempt = failures = 0
        while True:
            attempt += 1
            task = hands.release(lease.desired, attempt)
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
        """Or until it is retired: then the next attempt ends by it. The saga is cut off if nobody
        wants it any more."""
        node_id = lease.desired.node_id

        async def worth_asking(tx: Tx) -> bool:
            return await presence.is_connected(tx, node_id) or await presence.is_retired(
                tx, node_id
            )

        told = (presence.back(node_id), reenrolment.changed(node_id))
        with self._tasks.wakeups.subscribe(*told) as wakeup:
            while not await self._database.run(worth_asking):
                await wakeup.wait()

    async def failed(self, lease: Lease, reason: str) -> None:
        """No proof: central blocks the slots and says so."""

        async def work(tx: Tx) -> None:
            failed = wire.STEP_STATUS_FAILED
            if await reporting.step(tx, lease, NAME, "clean", failed, reason):
                reporting.cleanup(tx, lease, [], reason)

        await self._database.run(work, correlation_id=lease.document.correlation_id)
