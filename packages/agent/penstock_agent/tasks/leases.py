"""A lease's runtime: provisioned, and released with a proof for each slot."""

from typing import Final

from penstock_agent import results
from penstock_agent.tasks import access, attachments, bindings
from penstock_agent.tasks.doer import Doer, InputRefused
from penstock_contracts import ids
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.drivers.lease import Lease, Shape
from penstock_contracts.wire_pb2 import LeaseTask, Task, TaskResult

SHAPES: Final = {wire.SHAPE_GPU_SLICE: Shape.SLICE, wire.SHAPE_BAREMETAL: Shape.BAREMETAL}


def read_provision(task: Task) -> Lease:
    return _lease(task.provision, releases=False)


def read_release(task: Task) -> Lease:
    return _lease(task.release, releases=True)


def lanes(lease: Lease) -> frozenset[str]:
    """Those of one allocation, and those about one slot, whichever allocation they are of."""
    return frozenset((lease.allocation_id, *(slot.id for slot in lease.slots)))


async def provision(doer: Doer, lease: Lease) -> TaskResult:
    return results.provisioned(lease, await doer.host.provision(lease))


async def release(doer: Doer, lease: Lease) -> TaskResult:
    cleanings = await doer.host.release(lease)
    return results.cleaned(doer.key, doer.id, lease, cleanings, doer.clock_us())


def _lease(given: LeaseTask, *, releases: bool) -> Lease:
    try:
        allocation_id = ids.AllocationId.parse(given.allocation_id)
    except ids.InvalidId as error:
        raise InputRefused(str(error)) from None
    shape = SHAPES.get(given.shape)
    if shape is None:
        raise InputRefused("the lease has no shape that this agent knows")
    return Lease(
        allocation_id=allocation_id,
        shape=shape,
        slots=bindings.read(given.slots, shape, releases=releases),
        image=attachments.image(given.image) if given.HasField("image") else None,
        networks=attachments.networks(given.networks),
        volumes=attachments.volumes(given.volumes),
        access=access.read(given.access) if given.HasField("access") else None,
    )
