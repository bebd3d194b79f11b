"""Ensures that the newest document of every lease has its workflow.

A document becomes one workflow, `realize` or `release`, whose id is made from the
allocation and the revision: however often it is started, it runs once.
"""

from functools import partial
from typing import Final

from dbos import DBOS, DBOSConfiguredInstance, SetWorkflowID

from penstock.kernel import loops
from penstock.kernel.db import Database, Tx
from penstock.kernel.loops import Idle, Loop
from penstock.kernel.wakeups import Wakeups
from penstock.site.leases import saga, service, store
from penstock.site.leases.realize import Realize
from penstock.site.leases.release import Release
from penstock.site.leases.store import Lease
from penstock.site.tasks.service import Tasks
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.failpoints import Failpoint
from penstock_contracts.wire_pb2 import DesiredAllocation

RECEIVED: Final = Failpoint("site.lease.received")
STARTED: Final = Failpoint("site.lease.started")
RECOVERIES_MAX: Final = 1_000_000  # a workflow is never given up


@DBOS.dbos_class()
class LeaseWorkflows(DBOSConfiguredInstance):
    def __init__(self, tasks: Tasks) -> None:
        super().__init__("leases")
        self._realize = Realize(tasks).saga
        self._release = Release(tasks).saga

    @DBOS.workflow(max_recovery_attempts=RECOVERIES_MAX)
    async def realize(self, document: bytes) -> str:
        return await saga.run(self._realize, Lease(DesiredAllocation.FromString(document)))

    @DBOS.workflow(max_recovery_attempts=RECOVERIES_MAX)
    async def release(self, document: bytes) -> str:
        return await saga.run(self._release, Lease(DesiredAllocation.FromString(document)))

    async def start(self, lease: Lease) -> None:
        released = lease.document.desired == wire.DESIRED_RELEASED
        workflow = self.release if released else self.realize
        name = "release" if released else "realize"
        with SetWorkflowID(f"{name}:{lease.id}:{lease.revision}"):
            await DBOS.start_workflow_async(workflow, lease.document.SerializeToString())


def loop(database: Database, told: Wakeups, workflows: LeaseWorkflows) -> Loop:
    """Told when a document arrives; looks once at the start for what a crash left behind."""
    return Loop(
        "leases",
        "Starts the workflow of every lease's newest document.",
        loops.reconcile(partial(ensure_started, database, workflows), told, (service.DESIRED,)),
    )


async def ensure_started(database: Database, workflows: LeaseWorkflows) -> Idle:
    for lease in await database.run(store.unstarted):
        RECEIVED.hit()
        await workflows.start(lease)
        STARTED.hit()
        await database.run(lambda tx, lease=lease: _mark(tx, lease))
    return loops.UNTIL_TOLD


async def _mark(tx: Tx, lease: Lease) -> None:
    await store.mark_started(tx, lease.id, lease.revision)
