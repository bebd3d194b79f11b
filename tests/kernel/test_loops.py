"""Loops advance until nothing is left, pause after failures, and tell how it went."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager

import pytest
from prometheus_client import REGISTRY

from penstock.kernel import loops
from penstock.kernel.loops import Alone, Idle, Loop, Loops, Pauses
from penstock.kernel.runs import WORDS_MAX, Outcome, Runs
from penstock.kernel.wakeups import Wakeups

pytestmark = pytest.mark.anyio

LOCK = 0x4C4F4F50
QUICK = Pauses(0.001, 0.01)


@asynccontextmanager
async def under_way(*works: Coroutine[object, object, None]) -> AsyncGenerator[None]:
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        async with asyncio.timeout(20):
            yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(met: Callable[[], bool]) -> None:
    """What is noted of a run tells nobody."""
    while not met():  # noqa: ASYNC110
        await asyncio.sleep(0.005)


def metric(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


class Steps:
    """Answers what it was given, one at a time, and then that nothing is left until told."""

    def __init__(self, *answers: Idle | Exception) -> None:
        self.left = list(answers)
        self.taken = 0

    async def advance(self) -> Idle:
        self.taken += 1
        answer = self.left.pop(0) if self.left else loops.UNTIL_TOLD
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_a_run_advances_until_nothing_is_left_and_the_next_begins_when_told() -> None:
    steps, runs, told = Steps(loops.MORE, loops.MORE), Runs("told"), Wakeups("")
    loop = Loop("told", "Tests.", loops.reconcile(steps.advance, told, ("bell", "gong")))
    async with under_way(loops.keep(loop, runs)):
        await until(lambda: runs.count == 1)
        assert (steps.taken, runs.outcome, runs.running) == (3, Outcome.OK, False)
        told.tell("whistle")
        told.tell("gong")
        await until(lambda: runs.count == 2)
        told.tell("bell")
        await until(lambda: runs.count == 3)
    assert steps.taken == 5
    assert metric("penstock_loop_runs_total", loop="told", outcome="ok") == 3
    assert metric("penstock_loop_run_seconds_count", loop="told") == 3
    assert metric("penstock_loop_last_success_timestamp_seconds", loop="told")


async def test_a_run_begins_when_something_is_due() -> None:
    steps, runs = Steps(0.001, 0.001), Runs("due")
    async with under_way(loops.keep(Loop("due", "Tests.", loops.reconcile(steps.advance)), runs)):
        await until(lambda: runs.count == 3)
    assert steps.taken == 3


async def test_what_is_told_during_a_run_is_not_lost() -> None:
    runs, told, entered, go_on = Runs("meanwhile"), Wakeups(""), asyncio.Event(), asyncio.Event()

    async def advance() -> Idle:
        entered.set()
        await go_on.wait()
        return loops.UNTIL_TOLD

    loop = Loop("meanwhile", "Tests.", loops.reconcile(advance, told, ("bell",)))
    async with under_way(loops.keep(loop, runs)):
        await entered.wait()
        assert runs.running
        told.tell("bell")
        go_on.set()
        await until(lambda: runs.count == 2)


async def test_whatever_fails_is_noted_and_tried_again() -> None:
    steps = Steps(ZeroDivisionError("no number"), KeyError(), loops.MORE)
    runs = Runs("failing")
    seen: list[tuple[Outcome, str]] = []

    async def advance() -> Idle:
        seen.append((runs.outcome, runs.error))
        return await steps.advance()

    loop = Loop("failing", "Tests.", loops.reconcile(advance, pauses=QUICK))
    async with under_way(loops.keep(loop, runs)):
        await until(lambda: runs.outcome is Outcome.OK)
    assert seen[:3] == [
        (Outcome.WAITING, ""), (Outcome.FAILED, "no number"), (Outcome.FAILED, "KeyError"),
    ]  # fmt: skip
    assert (runs.count, runs.failures, runs.error) == (3, 2, "")
    assert metric("penstock_loop_runs_total", loop="failing", outcome="failed") == 2


async def test_a_pause_after_a_failure_is_not_shortened_by_being_told() -> None:
    steps, runs, told = Steps(RuntimeError("once")), Runs("pausing"), Wakeups("")
    hour = Pauses(3600, 3600)
    loop = Loop("pausing", "Tests.", loops.reconcile(steps.advance, told, ("bell",), pauses=hour))
    async with under_way(loops.keep(loop, runs)):
        await until(lambda: runs.count == 1)
        told.tell("bell")
        await asyncio.sleep(0.05)
    assert steps.taken == 1


async def test_a_stuck_loop_waits_until_it_is_told() -> None:
    steps, runs, told = Steps(loops.Stuck("x" * 1000)), Runs("stuck"), Wakeups("")
    loop = Loop("stuck", "Tests.", loops.reconcile(steps.advance, told, ("bell",), pauses=QUICK))
    async with under_way(loops.keep(loop, runs)):
        await until(lambda: runs.count == 1)
        await asyncio.sleep(QUICK.last_s * 5)
        assert (runs.outcome, runs.error, steps.taken) == (Outcome.FAILED, "x" * WORDS_MAX, 1)
        told.tell("bell")
        await until(lambda: runs.outcome is Outcome.OK)


def test_pauses_grow_up_to_the_last() -> None:
    pauses = Pauses(0.2, 2.0)
    assert [pauses.after(failures) for failures in (1, 2, 3, 4, 5, 100_000)] == [
        0.2, 0.4, 0.8, 1.6, 2.0, 2.0,
    ]  # fmt: skip


async def for_ever() -> None:
    await asyncio.Event().wait()


async def test_of_two_that_must_run_alone_one_waits_until_the_other_has_ended(
    central_url: str,
) -> None:
    alone = Alone(central_url, LOCK, session="loop test")
    first, second = Runs("first"), Runs("second")
    loop = Loop("alone", "Tests.", loops.steady(for_ever), alone)
    async with asyncio.timeout(20):
        leading = asyncio.create_task(loops.keep(loop, first))
        await until(lambda: first.running)
        async with under_way(loops.keep(loop, second)):
            await asyncio.sleep(0.1)
            assert (first.outcome, second.outcome) == (Outcome.OK, Outcome.WAITING)
            assert not second.running
            leading.cancel()
            await until(lambda: second.running)
            assert (first.outcome, second.outcome) == (Outcome.WAITING, Outcome.OK)


async def test_a_steady_loop_that_was_interrupted_goes_on_and_the_failure_is_counted() -> None:
    interrupted = False

    async def work() -> None:
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            raise ConnectionError("gone")
        await for_ever()

    known = Loops("central", "central-7")
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        known.start(group, [Loop("steady", "Tests.", loops.steady(work))])
        await until(lambda: known.standings()[0].failures == 1)
        assert (known.standings()[0].outcome, known.standings()[0].error) == ("failed", "gone")
        await until(lambda: known.standings()[0].running)
        (shown,) = known.standings()
        assert (shown.name, shown.description, shown.plane) == ("steady", "Tests.", "central")
        assert (shown.replica, shown.outcome, shown.runs) == ("central-7", "ok", 1)
        for task in asyncio.all_tasks():
            if task.get_name() == "steady":
                task.cancel()
