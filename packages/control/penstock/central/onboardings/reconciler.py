"""Ensures that every onboarding is finished or undone.

An onboarding is open until each of its steps is done, or one failed and all before it were taken
back. One step is one transaction, together with the row that says how far it came; its commit
tells every replica that there is a next one. Who takes a step holds the row: another replica
waits for it and, if the holder dies, takes the step itself. So nothing is polled, nothing is
lost with a process, and no step is taken twice. A step that needs another's answer (a realm's
provider) writes down what it wants and is taken again when it is told that there is one.
"""

from datetime import timedelta
from functools import partial
from typing import Final

from penstock.central.onboardings import service, store
from penstock.central.onboardings.job import Job
from penstock.central.onboardings.model import Onboarding, Pending, Status, Step
from penstock.central.onboardings.saga import STAGES
from penstock.kernel import audit, events, log, loops, wakeups
from penstock.kernel.db import LOST, RACED, Database, Tx
from penstock.kernel.errors import Problem
from penstock.kernel.loops import Idle, Loop
from penstock.kernel.wakeups import Wakeups

logger = log.get(__name__)
RETRY_S_MIN: Final = 0.2
RETRY_S_MAX: Final = 60.0
ANSWER_MAX: Final = timedelta(minutes=1)


def loop(database: Database, told: Wakeups) -> Loop:
    return Loop(
        "onboardings",
        "Takes the next step of every onboarding that is open, or takes one back.",
        loops.reconcile(partial(database.run, advance), told, (service.MOVED,)),
    )


async def advance(tx: Tx) -> Idle | None:
    """Take the next step of the oldest onboarding that has one."""
    onboarding = await store.lock_next(tx)
    if onboarding is None:
        at = await store.retry_at(tx)
        return loops.UNTIL_TOLD if at is None else max(0.0, (at - tx.now).total_seconds())
    tx.correlation_id = onboarding.correlation_id
    step = onboarding.next
    if step is not None:
        move = _take if onboarding.status is Status.RUNNING else _take_back
        await _save(tx, await move(tx, onboarding, step), step)
    return loops.MORE


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
