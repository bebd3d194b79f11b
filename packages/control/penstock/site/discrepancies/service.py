"""Ensures that central knows where a node's host differs from its leases.

A host is asked for what it holds when its node counts as connected, and again when a difference
was found, when one may have gone, and when a runtime is said to have ended. Nothing is done about
a difference but telling: whether a lease without a runtime ends is for people to decide.
"""

from typing import Final

from prometheus_client import Counter

from penstock.kernel import db, log
from penstock.kernel.db import Tx
from penstock.kernel.feed import Rejected
from penstock.site import reports
from penstock.site.discrepancies import model, store
from penstock.site.discrepancies.model import Discrepancy, Held, Kind
from penstock.site.tasks import holdings
from penstock.site.tasks.service import Tasks
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.ids import EventId, NodeId
from penstock_contracts.wire_pb2 import HoldsList, HostHolds, SiteReport, Task, TaskResult

HOLDINGS_MAX: Final = 1024  # of one node
FOUND_MAX: Final = 256  # discrepancies of one node that are kept and told
ID_LENGTH_MAX: Final = 128
CHANGES: Final = {"runtime", "cleanup"}  # outputs that change what a node should hold
FOUND: Final = Counter("penstock_node_discrepancies", "Found, and told to central", ["kind"])
KIND: Final = {
    Kind.NOT_HELD: wire.DISCREPANCY_KIND_NOT_HELD,
    Kind.NOT_LEASED: wire.DISCREPANCY_KIND_NOT_LEASED,
    Kind.OTHER_SLOTS: wire.DISCREPANCY_KIND_OTHER_SLOTS,
}
logger = log.get(__name__)


async def ask(tx: Tx, tasks: Tasks, node_id: NodeId) -> None:
    """What does the host hold now?"""
    id = f"holds:{node_id}:{EventId.new()}"
    await tasks.ask(tx, Task(task_id=id, node_id=node_id, holds=HoldsList()))


async def answered(tx: Tx, tasks: Tasks, node_id: NodeId, result: TaskResult) -> None:
    """A task was done: compare what the host holds, or ask for it if a difference may be gone."""
    if result.status != wire.TASK_STATUS_DONE:
        return
    output = result.WhichOneof("output")
    if output == "holds":
        await _compare(tx, tasks, node_id, result.holds)
    elif output in CHANGES and await store.found(tx, node_id):
        await ask(tx, tasks, node_id)


async def _compare(tx: Tx, tasks: Tasks, node_id: NodeId, holds: HostHolds) -> None:
    before = await store.found(tx, node_id)
    differs = model.differences(await holdings.of_node(tx, node_id), _held(holds))
    now = sorted(differs)[:FOUND_MAX]
    fresh = [one for one in now if one not in before]
    confirmed = [one for one in now if one in before]
    await store.keep(tx, node_id, fresh, confirmed)
    if fresh:
        await ask(tx, tasks, node_id)
    if {one for one, told in before.items() if told} != set(confirmed):
        _tell(tx, node_id, confirmed)
        for one in confirmed:
            if not before[one]:
                FOUND.labels(one.kind).inc()


def _held(holds: HostHolds) -> dict[str, Held]:
    if len(holds.holdings) > HOLDINGS_MAX:
        raise Rejected(f"a node says that it holds {len(holds.holdings)} allocations")
    return {
        _line(one.allocation_id): Held(
            _line(one.runtime_id), {slot.slot_id: slot.fence for slot in one.slots}
        )
        for one in holds.holdings
    }


def _line(said: str) -> str:
    """What a host calls something, as it can be stored and shown."""
    return "".join(letter if letter.isprintable() else "?" for letter in said[:ID_LENGTH_MAX])


def _tell(tx: Tx, node_id: NodeId, found: list[Discrepancy]) -> None:
    told = wire.NodeDiscrepancies(
        node_id=node_id,
        found=[
            wire.Discrepancy(
                kind=KIND[one.kind], allocation_id=one.allocation_id, runtime_id=one.runtime_id
            )
            for one in found
        ],
        at_us=db.to_us(tx.now),
    )
    logger.warning("what a node holds differs from its leases", node=node_id, found=len(found))
    reports.send(tx, SiteReport(discrepancies=told))
