"""The desired document that tells a site what an allocation should be."""

from collections.abc import Iterable
from typing import Final

from penstock.central.allocations.model import Allocation, Desired
from penstock.central.sites import service as sites
from penstock.kernel import feed
from penstock.kernel.db import Tx
from penstock.placement.model import Shape
from penstock_contracts import wire_pb2 as wire

KIND: Final = "lease"
DESIRED = {Desired.ACTIVE: wire.DESIRED_ACTIVE, Desired.RELEASED: wire.DESIRED_RELEASED}
SHAPE = {Shape.BAREMETAL: wire.SHAPE_BAREMETAL, Shape.GPU_SLICE: wire.SHAPE_GPU_SLICE}


def send(tx: Tx, allocation: Allocation, slots: Iterable[bytes]) -> None:
    """Append the newest revision to the site's orders. Its slots are encoded bindings."""
    site_id, node_id = allocation.where
    desired = wire.DesiredAllocation(
        allocation_id=allocation.id,
        revision=allocation.revision,
        desired=DESIRED[allocation.desired],
        shape=SHAPE[allocation.shape],
        node_id=node_id,
    )
    for slot in slots:
        desired.slots.add().MergeFromString(slot)
    document = wire.Document(
        kind=KIND,
        key=allocation.id,
        revision=allocation.revision,
        correlation_id=allocation.correlation_id,
        body=desired.SerializeToString(),
    )
    order = wire.SiteOrder(site_id=site_id, document=document)
    feed.append(tx, sites.orders(site_id), order.SerializeToString(), key=allocation.id)


def end(tx: Tx, allocation: Allocation) -> None:
    """Append the last document of a lease that is over, a tombstone: its site drops what it keeps
    of the lease, and the feed drops the document."""
    site_id, _ = allocation.where
    document = wire.Document(
        kind=KIND,
        key=allocation.id,
        revision=allocation.revision + 1,  # newer than any that was desired
        correlation_id=allocation.correlation_id,
        gone=True,
    )
    order = wire.SiteOrder(site_id=site_id, document=document)
    feed.append(tx, sites.orders(site_id), order.SerializeToString(), key=allocation.id, last=True)
