"""Ensures that central knows what each connected node is made of.

A node is asked for its topology when it counts as connected; its signed answer goes to central as
it is, which verifies it with the node's key.
"""

from penstock.kernel.db import Tx
from penstock.site import reports
from penstock.site.tasks.service import Tasks
from penstock_contracts.ids import NodeId
from penstock_contracts.wire_pb2 import (
    TASK_STATUS_DONE,
    Signed,
    SiteReport,
    Task,
    TaskResult,
    TopologyDiscover,
)


async def ask(tx: Tx, tasks: Tasks, node_id: NodeId, session: str) -> None:
    """One discovery per connection."""
    task = Task(
        task_id=f"discover:{node_id}:{session}",
        node_id=node_id,
        discover=TopologyDiscover(),
    )
    await tasks.ask(tx, task)


def forward(tx: Tx, result: TaskResult, body: bytes) -> None:
    """Pass a topology on. What failed is asked again at the next connection."""
    if result.status == TASK_STATUS_DONE and result.WhichOneof("output") == "topology":
        reports.send(tx, SiteReport(topology=Signed.FromString(body)))
