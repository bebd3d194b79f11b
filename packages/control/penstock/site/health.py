"""Ensures that central knows which checks of a node's host do not pass."""

from typing import Final

from penstock.kernel.db import Tx
from penstock.site import reports
from penstock.site.discrepancies import service as discrepancies
from penstock.site.tasks.service import Tasks
from penstock_contracts.ids import NodeId
from penstock_contracts.wire_pb2 import Signed, SiteReport, TaskResult

RUNNING: Final = "runtime.running"  # does not pass once a runtime ended by itself


async def said(tx: Tx, tasks: Tasks, result: TaskResult, body: bytes) -> None:
    """Pass a node's health on as it is: central verifies it with the node's key."""
    if result.WhichOneof("output") != "health":  # a refusal of what could not even be read
        return
    reports.send(tx, SiteReport(health=Signed.FromString(body)))
    if any(problem.check == RUNNING for problem in result.health.problems):
        await discrepancies.ask(tx, tasks, NodeId(result.node_id))
