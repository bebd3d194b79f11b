"""Carries out the tasks of one node: verified, fenced, bounded in time, answered once."""

import asyncio
from dataclasses import dataclass, field
from typing import Final

import structlog
from structlog.typing import FilteringBoundLogger

from penstock_agent import orders, results
from penstock_agent.journal import NodeJournal, Pending
from penstock_agent.lanes import Lanes, Underway
from penstock_agent.orders import OrderRefused
from penstock_agent.tasks.doer import Doer
from penstock_contracts.drivers.faults import DriverFault
from penstock_contracts.failpoints import Failpoint, FailpointHit
from penstock_contracts.wire_pb2 import TaskResult, TaskStatus

BATCH: Final = 64
UNDERWAY_MAX: Final = 512  # tasks of one node at once; each ends by its deadline

BEFORE_EFFECT: Final = Failpoint("agent.task.before_effect")
AFTER_EFFECT: Final = Failpoint("agent.task.after_effect")
JOURNALED: Final = Failpoint("agent.task.journaled")


@dataclass(frozen=True, kw_only=True)
class Node(Doer):
    """Everything that carrying out a node's tasks needs."""

    task_key: bytes  # the site's public key, DER, as it was when the node joined
    journal: NodeJournal
    log: FilteringBoundLogger = field(default_factory=structlog.get_logger)


async def run(node: Node) -> None:
    """Carry out what the journal holds, then what arrives; ends only by failing."""
    lanes = Lanes()
    room = asyncio.Semaphore(UNDERWAY_MAX)
    after = 0
    async with asyncio.TaskGroup() as group:
        while True:
            seen = await node.journal.cursor()  # before reading: what comes meanwhile wakes us
            entries = await node.journal.pending(after, BATCH)
            for entry in entries:
                await room.acquire()
                task = group.create_task(_carry_out(node, lanes, entry))
                task.add_done_callback(lambda _: room.release())
                after = entry.seq
            if not entries:
                await node.journal.arrival(seen)


async def _carry_out(node: Node, lanes: Lanes, entry: Pending) -> None:
    started_us = node.clock_us()
    try:
        order = orders.read(entry.body, node.id, node.task_key)
        orders.check_devices(order, node.host.devices())
    except OrderRefused as refusal:
        result = results.refused(refusal.reason)
        await _finish(node, entry.seq, refusal.task_id, started_us, result, node.log)
        return
    log = node.log.bind(
        task_id=order.task_id, kind=order.kind.name, correlation_id=order.correlation_id
    )
    # Entered before the first await: lanes keep the order of arrival.
    with lanes.enter(order) as underway:
        await underway.twins()
        if await node.journal.repeat(entry.seq, order.task_id):
            log.info("task repeated")
            return
        result = await _result(node, underway, log)
        await _finish(node, entry.seq, order.task_id, started_us, result, log)


async def _result(node: Node, underway: Underway, log: FilteringBoundLogger) -> TaskResult:
    order = underway.order
    if node.clock_us() >= order.deadline_us:
        return results.expired("the deadline had passed before the task began")
    if reason := await node.journal.admit(order):
        return results.refused(reason)
    if order.kind.ends:
        underway.stop_ahead()
    await underway.turn()
    return await _bounded_effect(node, underway, log)


async def _bounded_effect(node: Node, underway: Underway, log: FilteringBoundLogger) -> TaskResult:
    """The effect, ended by its deadline or by a release of the same allocation."""
    if underway.stopped:
        return results.failed("cancelled by release")
    left_s = (underway.order.deadline_us - node.clock_us()) / 1e6
    if left_s <= 0:
        return results.expired("the deadline passed while the task waited for its turn")
    scope: asyncio.Timeout | None = None
    try:
        async with underway.limit(left_s) as scope:
            BEFORE_EFFECT.hit()
            result = await underway.order.kind.effect(node, underway.order.input)
            AFTER_EFFECT.hit()
            return result
    except DriverFault as fault:
        return results.faulted(fault)
    except FailpointHit as error:
        return results.failed(str(error))
    except Exception as error:
        if underway.stopped:
            return results.failed("cancelled by release")
        if scope is not None and scope.expired():
            return results.expired("the deadline passed while the task ran; it was stopped")
        log.exception("host failed unexpectedly")
        return results.failed(f"the host failed unexpectedly: {type(error).__name__}")


async def _finish(
    node: Node,
    seq: int,
    task_id: str,
    started_us: int,
    result: TaskResult,
    log: FilteringBoundLogger,
) -> None:
    result.task_id = task_id
    result.node_id = node.id
    result.started_at_us = started_us
    result.finished_at_us = node.clock_us()
    signed = node.key.sign(result.SerializeToString())
    await node.journal.finish(seq, task_id, signed.SerializeToString(), result.finished_at_us)
    JOURNALED.hit()
    status = TaskStatus.Name(result.status).removeprefix("TASK_STATUS_").lower()
    took_ms = (result.finished_at_us - started_us) // 1000
    log.info("task finished", status=status, reason=result.reason, took_ms=took_ms)
