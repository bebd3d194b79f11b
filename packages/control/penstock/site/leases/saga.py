"""Staged work: steps in order, each with an undo, killed or failed anywhere without harm.

A step returns normally, or raises: Superseded if a newer document of the lease has
arrived (its own workflow takes it from here), StepFailed if it cannot be done, anything
else if something broke. A saga whose step failed unwinds: the undo of that step and of
those before it, in reverse. A saga that only goes forward tries a broken step again. A
step may run more than once, so each is idempotent; so is each undo.

The engine (DBOS) records the outcome of each step in the site's own database and, after
a crash, goes on at the step that has none.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from dbos import DBOS

from penstock.kernel import log
from penstock.site.leases.store import Lease
from penstock_contracts.failpoints import Failpoint

logger = log.get(__name__)

DONE: Final = ""
SUPERSEDED: Final = "superseded by a newer document"
RETRY_S_MIN: Final = 0.1
RETRY_S_MAX: Final = 30.0

Effect = Callable[[Lease], Awaitable[None]]
Failed = Callable[[Lease, str], Awaitable[None]]


class Superseded(Exception):
    """A newer document of the lease has arrived."""


class StepFailed(Exception):
    """The step was tried and did not work. The message is for people."""


@dataclass(frozen=True)
class Step:
    """`do` changes the world; `undo` takes that back, however far `do` came."""

    saga: str
    name: str
    do: Effect
    undo: Effect | None = None
    points: dict[str, Failpoint] = field(init=False, default_factory=dict[str, Failpoint])

    def __post_init__(self) -> None:
        verbs = ["do", *(["undo"] if self.undo else [])]
        for verb in verbs:
            for moment in ("before", "after"):
                name = f"site.{self.saga}.{self.name}.{verb}.{moment}"
                self.points[f"{verb}.{moment}"] = Failpoint(name)


@dataclass(frozen=True)
class Saga:
    name: str
    steps: tuple[Step, ...]
    failed: Failed  # told once the saga is unwound
    forward: bool = False  # what breaks is tried again, for as long as it takes


async def run(saga: Saga, lease: Lease) -> str:
    """Run inside a workflow. Empty if every step is done, else why not."""
    for place, step in enumerate(saga.steps):
        outcome = await DBOS.run_step_async({"name": step.name}, _do, saga, step, lease)
        if outcome == DONE:
            continue
        if outcome != SUPERSEDED:
            await _unwind(saga, place, lease, outcome)
        return outcome
    return DONE


async def _do(saga: Saga, step: Step, lease: Lease) -> str:
    """The outcome as text: an exception could not be recorded faithfully."""
    async for _ in _attempts():
        try:
            step.points["do.before"].hit()
            await step.do(lease)
            step.points["do.after"].hit()
        except Superseded:
            return SUPERSEDED
        except Exception as error:
            logger.warning("step failed", lease=lease.id, step=step.name, error=str(error))
            if isinstance(error, StepFailed) or not saga.forward:
                return str(error) or type(error).__name__
        else:
            break
    return DONE


async def _unwind(saga: Saga, place: int, lease: Lease, reason: str) -> None:
    for step in reversed(saga.steps[: place + 1]):
        if step.undo is not None:
            options = {"name": f"undo {step.name}"}
            await DBOS.run_step_async({"name": options["name"]}, _undo, step, step.undo, lease)
    await DBOS.run_step_async({"name": "report failure"}, saga.failed, lease, reason)


async def _undo(step: Step, undo: Effect, lease: Lease) -> None:
    """Undo, again if it is made to fail: what was begun must be taken back."""
    async for _ in _attempts():
        try:
            step.points["undo.before"].hit()
            await undo(lease)
            step.points["undo.after"].hit()
        except Exception as error:
            logger.warning("undo failed", lease=lease.id, step=step.name, error=str(error))
        else:
            return


async def _attempts() -> AsyncIterator[None]:
    """One attempt after another, with a longer pause each time."""
    pause_s = RETRY_S_MIN
    while True:
        yield
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, RETRY_S_MAX)
