"""What each node should hold, by the tasks that it was given and its answers to them."""

from penstock.kernel.db import Tx
from penstock.site.tasks import store
from penstock.site.tasks.model import Expected, Standing
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.wire_pb2 import Task, TaskResult


async def of_node(tx: Tx, node_id: str) -> dict[str, Expected]:
    """By allocation."""
    rows = await store.holdings(tx, node_id)
    return {id: Expected(Standing(standing), slots) for id, standing, slots in rows}


async def asked(tx: Tx, task: Task) -> None:
    """A task was asked for: from now on its node may hold, or let go of, an allocation."""
    match task.WhichOneof("input"):
        case "provision":
            lease, standing = task.provision, Standing.COMING
        case "release":
            lease, standing = task.release, Standing.GOING
        case _:
            return
    slots = {slot.slot_id: slot.fence for slot in lease.slots}
    await store.expect_held(tx, task.node_id, lease.allocation_id, standing, slots)


async def answered(tx: Tx, result: TaskResult) -> None:
    """A task was answered: the tenant has its slots, or nobody has them."""
    if result.status != wire.TASK_STATUS_DONE:
        return
    match result.WhichOneof("output"):
        case "runtime":
            await store.arrived(tx, result.node_id, result.runtime.allocation_id)
        case "cleanup":
            await store.left(tx, result.node_id, result.cleanup.allocation_id)
        case _:
            return
