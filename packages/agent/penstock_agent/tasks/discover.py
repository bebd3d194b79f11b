"""What is in the host."""

from penstock_agent import results
from penstock_agent.tasks.doer import Doer
from penstock_contracts.wire_pb2 import Task, TaskResult


def read(_: Task) -> None:
    """It has no fields."""


async def effect(doer: Doer, _: None) -> TaskResult:
    return results.discovered(await doer.host.discover())
