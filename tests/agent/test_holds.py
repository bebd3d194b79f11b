"""A node says what its host holds: what is there, and not what was asked for."""

import asyncio
from pathlib import Path

from penstock_agent.simulated.faults import Action, Fault, Lie
from penstock_agent.simulated.faults import Task as Call
from penstock_contracts.wire_pb2 import HostHolds, TaskResult, TaskStatus

from .stage import Pen, Stage, allocation, now_us, stage


def fault(task: Call, action: Action, lie: Lie | None = None, step: str = "") -> Fault:
    return Fault(task, action, times=1, node="", lie=lie, step=step, reason="", id="")


async def held(on: Stage) -> dict[str, tuple[bool, list[tuple[str, int]]]]:
    """By allocation: whether it has a runtime, and its slots with their fences."""
    result = await on.do(on.pen.holds())
    assert result.status == TaskStatus.TASK_STATUS_DONE
    return by_allocation(result.holds)


def by_allocation(holds: HostHolds) -> dict[str, tuple[bool, list[tuple[str, int]]]]:
    return {
        one.allocation_id: (bool(one.runtime_id), [(s.slot_id, s.fence) for s in one.slots])
        for one in holds.holdings
    }


def test_what_is_held_follows_the_leases_and_outlives_a_restart(tmp_path: Path) -> None:
    pen, one, other = Pen(), allocation(), allocation()

    async def before() -> None:
        async with stage(tmp_path, pen) as on:
            assert await held(on) == {}
            await on.do(pen.provision(one, pen.gpu(0, fence=7), pen.gpu(1, fence=7)))
            await on.do(pen.provision(other, pen.gpu(2, fence=8)))

    async def after() -> None:
        async with stage(tmp_path, pen) as on:
            two = sorted([(pen.slots[0], 7), (pen.slots[1], 7)])
            assert await held(on) == {one: (True, two), other: (True, [(pen.slots[2], 8)])}
            await on.do(pen.release(other, pen.gpu(2, fence=8, nonce=b"n")))
            assert await held(on) == {one: (True, two)}

    asyncio.run(before())
    asyncio.run(after())


def test_a_host_that_lied_holds_what_it_holds(tmp_path: Path) -> None:
    lies = (
        fault(Call.VM_PROVISION, Action.LIE, Lie.NOTHING),
        fault(Call.VM_RELEASE, Action.LIE, Lie.NOTHING),
    )

    async def run() -> None:
        pen = Pen()
        async with stage(tmp_path, pen, *lies) as on:
            never, kept = allocation(), allocation()
            done = TaskStatus.TASK_STATUS_DONE
            assert (await on.do(pen.provision(never, pen.gpu(0)))).status == done
            await on.do(pen.provision(kept, pen.gpu(1)))
            assert (await on.do(pen.release(kept, pen.gpu(1, nonce=b"n")))).status == done
            assert await held(on) == {kept: (True, [(pen.slots[1], 1)])}

    asyncio.run(run())


def test_slots_that_are_not_clean_are_held_without_a_runtime(tmp_path: Path) -> None:
    step = fault(Call.VM_RELEASE, Action.FAIL_STEP, step="gpu.reset")

    async def run() -> None:
        pen = Pen()
        async with stage(tmp_path, pen, step) as on:
            lease = allocation()
            await on.do(pen.provision(lease, pen.gpu(0)))
            await on.do(pen.release(lease, pen.gpu(0, nonce=b"n")))
            assert await held(on) == {lease: (False, [(pen.slots[0], 1)])}

    asyncio.run(run())


def test_the_question_is_answered_beside_a_task_that_hangs(tmp_path: Path) -> None:
    async def run() -> None:
        pen = Pen()
        async with stage(tmp_path, pen, fault(Call.VM_PROVISION, Action.HANG)) as on:
            await on.order(pen.provision(allocation(), pen.gpu(0)))
            assert await held(on) == {}

    asyncio.run(run())


def test_a_repeated_question_has_its_first_answer_and_a_late_one_none(tmp_path: Path) -> None:
    async def run() -> None:
        pen = Pen()
        async with stage(tmp_path, pen) as on:
            asked = pen.holds()
            first = await on.do(asked)
            await on.do(pen.provision(allocation(), pen.gpu(0)))
            assert await on.do(asked) == first
            late = pen.holds()
            late.deadline_us = now_us() - 1
            result: TaskResult = await on.do(late)
            assert result.status == TaskStatus.TASK_STATUS_EXPIRED

    asyncio.run(run())
