"""What the agent answers: results and cleanup proofs, signed by the node's key."""

from collections.abc import Sequence
from typing import Final

from penstock_contracts import wire_pb2 as wire
from penstock_contracts.drivers import fault_names
from penstock_contracts.drivers.faults import DriverFault
from penstock_contracts.drivers.host import Cleaning, Holding, Runtime
from penstock_contracts.drivers.lease import Lease
from penstock_contracts.identity import PrivateKey
from penstock_contracts.wire_pb2 import (
    Cleanup,
    CleanupProof,
    CleanupStep,
    HostHealth,
    HostHolds,
    RuntimeUp,
    SlotFence,
    TaskResult,
    TaskStatus,
    Topology,
)

REASON_MAX: Final = 500


def refused(reason: str) -> TaskResult:
    return _without_output(TaskStatus.TASK_STATUS_REFUSED, reason)


def failed(reason: str) -> TaskResult:
    return _without_output(TaskStatus.TASK_STATUS_FAILED, reason)


def faulted(fault: DriverFault) -> TaskResult:
    """The driver said why: the site decides by the fault's name whether asking again is right."""
    result = failed(str(fault))
    result.fault = fault_names.name(type(fault))
    return result


def expired(reason: str) -> TaskResult:
    return _without_output(TaskStatus.TASK_STATUS_EXPIRED, reason)


def discovered(topology: Topology) -> TaskResult:
    return TaskResult(status=TaskStatus.TASK_STATUS_DONE, topology=topology)


def provisioned(lease: Lease, runtime: Runtime) -> TaskResult:
    up = RuntimeUp(
        allocation_id=lease.allocation_id, runtime_id=runtime.id, gpu_uuids=runtime.gpu_uuids
    )
    return TaskResult(status=TaskStatus.TASK_STATUS_DONE, runtime=up)


def cleaned(
    key: PrivateKey, node_id: str, lease: Lease, cleanings: Sequence[Cleaning], at_us: int
) -> TaskResult:
    """Done even if a step did not pass: each proof says the truth about its slot."""
    proofs = [
        key.sign(_proof(node_id, lease.allocation_id, cleaning, at_us).SerializeToString())
        for cleaning in cleanings
    ]
    cleanup = Cleanup(allocation_id=lease.allocation_id, proofs=proofs)
    return TaskResult(status=TaskStatus.TASK_STATUS_DONE, cleanup=cleanup)


def held(holdings: Sequence[Holding]) -> TaskResult:
    found = [
        wire.Holding(
            allocation_id=holding.allocation_id,
            runtime_id=holding.runtime_id,
            slots=[SlotFence(slot_id=slot.id, fence=slot.fence) for slot in holding.slots],
        )
        for holding in holdings
    ]
    return TaskResult(status=TaskStatus.TASK_STATUS_DONE, holds=HostHolds(holdings=found))


def healthy(health: HostHealth) -> TaskResult:
    """What nobody asked for, and so without a task's id."""
    return TaskResult(status=TaskStatus.TASK_STATUS_DONE, health=health)


def _proof(node_id: str, allocation_id: str, cleaning: Cleaning, at_us: int) -> CleanupProof:
    steps = [CleanupStep(name=s.name, passed=s.passed, detail=s.detail) for s in cleaning.steps]
    return CleanupProof(
        node_id=node_id,
        slot_id=cleaning.slot_id,
        allocation_id=allocation_id,
        fence=cleaning.fence,
        nonce=cleaning.nonce,
        steps=steps,
        finished_at_us=at_us,
    )


def _without_output(status: TaskStatus, reason: str) -> TaskResult:
    return TaskResult(status=status, reason=reason[:REASON_MAX])
