"""Loops: what a plane does for as long as it runs, besides answering.

Most of them reconcile: told, or when something is due, they advance until nothing is left to do,
and after a failure they pause and try again. The others are steady: one run that never ends.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final

from penstock.kernel import faults, leadership, log
from penstock.kernel.runs import Outcome, Runs
from penstock.kernel.wakeups import Wakeup, Wakeups

AGAIN_S: Final = 0.5  # after a fault of the database outside any run
logger = log.get(__name__)

Idle = float | None  # for so many seconds nothing can be done; None: until told
Advance = Callable[[], Awaitable[Idle]]
Work = Callable[[Runs], Awaitable[None]]
IsFault = Callable[[BaseException], bool]
MORE: Final = 0.0  # as Idle: there may be more to do now
UNTIL_TOLD: Final = None


class Stuck(Exception):
    """A run failed, and to try it again cannot help before something is told."""


@dataclass(frozen=True)
class Pauses:
    """After a failure; each is twice as long as the one before."""

    first_s: float = 0.2
    last_s: float = 2.0

    def after(self, failures: int) -> float:
        return min(self.first_s * 2 ** min(failures - 1, 30), self.last_s)


PAUSES: Final = Pauses()


@dataclass(frozen=True)
class Alone:
    """Of all processes with this loop, the one whose database session holds the lock runs it."""

    url: str
    lock: int
    session: str = ""  # by which the database knows who leads; the loop's name if there is none


@dataclass(frozen=True)
class Loop:
    name: str
    sentence: str  # what it does, for operators
    work: Work
    alone: Alone | None = None


@dataclass(frozen=True)
class Standing:
    """A loop as the process that was asked knows it."""

    name: str
    description: str
    plane: str
    replica: str
    running: bool
    last_began_at: datetime | None
    last_ended_at: datetime | None
    last_seconds: float | None
    outcome: Outcome
    error: str
    runs: int
    failures: int


@dataclass(frozen=True)
class Loops:
    """Those of one process, in the order in which they were started."""

    plane: str
    replica: str
    is_fault: IsFault = faults.is_fault
    started: list[tuple[Loop, Runs]] = field(default_factory=list[tuple[Loop, Runs]])

    def start(self, group: asyncio.TaskGroup, loops: Sequence[Loop]) -> None:
        for loop in loops:
            runs = Runs(loop.name)
            self.started.append((loop, runs))
            group.create_task(keep(loop, runs, self.is_fault), name=loop.name)

    def standings(self) -> list[Standing]:
        return [
            Standing(
                loop.name, loop.sentence, self.plane, self.replica, runs.running, runs.began_at,
                runs.ended_at, runs.seconds, runs.outcome, runs.error, runs.count, runs.failures,
            )
            for loop, runs in self.started
        ]  # fmt: skip


def listening(told: Wakeups) -> Loop:
    return Loop(
        "wakeups",
        "Hears what the database tells, and wakes whoever waits for it.",
        steady(told.listen),
    )


def steady(work: Callable[[], Awaitable[None]]) -> Work:
    """One run for as long as the process lives; its failures are up to whoever keeps it."""

    async def run(runs: Runs) -> None:
        with runs.one():
            runs.go_on()
            await work()

    return run


def reconcile(
    advance: Advance,
    told: Wakeups | None = None,
    names: Sequence[str] = (),
    *,
    pauses: Pauses = PAUSES,
    gather_s: float = 0.0,
) -> Work:
    """Advances until nothing is left: at the start, when told of one of the names (after
    `gather_s`, so that what is told together is done together), and when something is due. Whatever
    fails is tried again after a pause, which nothing that is told meanwhile shortens."""

    async def run(runs: Runs) -> None:
        failures = 0
        with told.subscribe(*names) if told else nullcontext(Wakeup()) as wakeup:
            while True:
                try:
                    with runs.one():
                        idle_s = await _until_idle(advance)
                    failures = 0
                except Stuck as error:
                    logger.error(f"{runs.loop} stuck", reason=str(error))
                    idle_s = UNTIL_TOLD
                except Exception as error:
                    failures += 1
                    pause_s = pauses.after(failures)
                    # The name is in the message: an outage is told once per message.
                    logger.error(f"{runs.loop} failed", exc_info=error, retry_s=pause_s)
                    await asyncio.sleep(pause_s)
                    continue
                if await _told_within(wakeup, idle_s) and gather_s:
                    await asyncio.sleep(gather_s)

    return run


async def keep(loop: Loop, runs: Runs | None = None, is_fault: IsFault = faults.is_fault) -> None:
    """Ensures that the loop goes on: a fault of the database interrupts it only for a moment. Any
    other exception that it lets out is a bug, and ends the process."""
    runs = runs or Runs(loop.name)
    work = _led(loop.alone, loop, runs) if loop.alone else partial(loop.work, runs)
    while True:
        try:
            return await work()
        except Exception as error:
            if not is_fault(error):
                raise
            logger.error(f"{loop.name} interrupted", exc_info=error)
        await asyncio.sleep(AGAIN_S)


def _led(alone: Alone, loop: Loop, runs: Runs) -> Callable[[], Awaitable[None]]:
    async def work() -> None:
        try:
            await loop.work(runs)
        finally:
            runs.hand_over()

    return partial(leadership.lead, alone.url, alone.lock, alone.session or loop.name, work)


async def _until_idle(advance: Advance) -> Idle:
    while (idle_s := await advance()) == MORE:
        pass
    return idle_s


async def _told_within(wakeup: Wakeup, idle_s: Idle) -> bool:
    try:
        async with asyncio.timeout(idle_s):
            await wakeup.wait()
    except TimeoutError:
        return False
    return True
