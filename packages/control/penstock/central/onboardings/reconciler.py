"""Ensures that every onboarding is finished or undone.

An onboarding is open until each of its steps is done, or one failed and all before it were taken
back. One step is one transaction, together with the row that says how far it came; its commit
tells every replica that there is a next one. Who takes a step holds the row: another replica
waits for it and, if the holder dies, takes the step itself. So nothing is polled, nothing is
lost with a process, and no step is taken twice. A step that needs another's answer (a realm's
provider) writes down what it wants and is taken again when it is told that there is one.
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from penstock.central.onboardings import service, store
from penstock.central.onboardings.job import Job
from penstock.central.onboardings.model import Onboarding, Pending, Status, Step
from penstock.central.onboardings.saga import STAGES
from penstock.kernel import audit, events, log, wakeups
from penstock.kernel.db import LOST, RACED, Database, Tx
from penstock.kernel.errors import Problem
from penstock.kernel.wakeups import Wakeups

logger = log.get(__name__)
RETRY_S_MIN: Final = 0.2
RETRY_S_MAX: Final = 60.0
ANSWER_MAX: Final = timedelta(minutes=1)


@dataclass(frozen=True)
class Idle:
    """Nothing can be done now; in so many seconds something may be, or (None) when told."""

    for_s: float | None


async def run(database: Database, told: Wakeups) -> None:
    with told.subscribe(service.MOVED) as wakeup:
        while True:
            try:
                idle = await database.run(advance)
            except Exception as error:
                logger.error("onboarding failed", exc_info=error, retry_s=RETRY_S_MIN)
                idle = Idle(RETRY_S_MIN)
            if idle is not None:
                try:
                    async with asyncio.timeout(idle.for_s):
                        await wakeup.wait()
                except TimeoutError:
                    pass


async def advance(tx: Tx) -> Idle | None:
    """Take the next step of the oldest onboarding that has one; None if it was taken."""
    onboarding = await store.lock_next(tx)
    if onboarding is None:
        at = await store.retry_at(tx)
        return Idle(None if at is None else max(0.0, (at - tx.now).total_seconds()))
    tx.correlation_id = onboarding.correlation_id
    step = onboarding.next
    if step is not None:
        move = _take if onboarding.status is Status.RUNNING else _take_back
        await _save(tx, await move(tx, onboarding, step), step)
    return None


async def _take(tx: Tx, onboarding: Onboarding, step: Step) -> Onboarding:
    stage = STAGES[step.name]
    try:
        async with tx.savepoint():
            stage.points["do.before"].hit()
            did = await stage.do(tx, Job.of(onboarding))
            stage.points["do.after"].hit()
    except (*LOST, *RACED):
        raise  # it is taken again
    except Problem as refusal:
        return onboarding.failed(step, refusal.detail, tx.now)
    except Exception as error:
        logger.error("step failed", exc_info=error, onboarding=onboarding.id, step=step.name)
        return onboarding.failed(step, f"it broke ({type(error).__name__}), and is logged", tx.now)
    if isinstance(did, Pending):
        return onboarding.waits(step, did, tx.now + ANSWER_MAX)
    return onboarding.did(step, did, tx.now)


async def _take_back(tx: Tx, onboarding: Onboarding, step: Step) -> Onboarding:
    stage = STAGES[step.name]
    try:
        async with tx.savepoint():
            stage.points["undo.before"].hit()
            detail = await stage.undo(tx, Job.of(onboarding), step.before)
            stage.points["undo.after"].hit()
    except (*LOST, *RACED):
        raise
    except Exception as error:
        pause_s = min(RETRY_S_MIN * 2**onboarding.failures, RETRY_S_MAX)
        logger.error("undo failed", exc_info=error, onboarding=onboarding.id, retry_s=pause_s)
        return onboarding.stuck(tx.now + timedelta(seconds=pause_s))
    if isinstance(detail, Pending):
        return onboarding.waits(step, detail, tx.now + ANSWER_MAX)
    return onboarding.took_back(step, detail, tx.now)


async def _save(tx: Tx, onboarding: Onboarding, was: Step) -> None:
    await store.save(tx, onboarding)
    wakeups.notify(tx, service.MOVED)
    step = next(step for step in onboarding.steps if step.name == was.name)
    if step != was:
        events.emit(
            tx, "onboarding.stepped", onboarding.id, tenant_id=onboarding.tenant_id,
            step=step.name, status=step.status, detail=step.detail, changed=step.changed,
        )  # fmt: skip
    if onboarding.finished_at is not None:
        verb = "finish" if onboarding.status is Status.DONE else "undo"
        audit.record(
            tx, Job.of(onboarding).actor, f"onboarding.{verb}", onboarding.id,
            tenant_id=onboarding.tenant_id, reason=onboarding.reason,
        )  # fmt: skip
        events.emit(
            tx, ENDED[onboarding.status], onboarding.id,
            tenant_id=onboarding.tenant_id, reason=onboarding.reason,
        )  # fmt: skip


ENDED: Final = {Status.DONE: "onboarding.done", Status.UNDONE: "onboarding.undone"}
