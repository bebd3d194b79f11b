"""What a node does with tasks: once, in order, fenced, bounded in time, with signed evidence."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from penstock_agent.simulated.faults import Action, Fault, Lie
from penstock_agent.simulated.faults import Task as Call
from penstock_contracts.wire_pb2 import Task, TaskResult, TaskStatus

from .stage import STEPS, Pen, Stage, allocation, now_us, stage

DONE = TaskStatus.TASK_STATUS_DONE
FAILED = TaskStatus.TASK_STATUS_FAILED
REFUSED = TaskStatus.TASK_STATUS_REFUSED
EXPIRED = TaskStatus.TASK_STATUS_EXPIRED


def fault(task: Call, action: Action, lie: Lie | None = None, step: str = "") -> Fault:
    return Fault(task, action, times=1, node="", lie=lie, step=step, reason="", id="")


def play(folder: Path, script: Callable[[Stage], Awaitable[None]], *listed: Fault) -> None:
    async def run() -> None:
        async with stage(folder, Pen(), *listed) as on:
            await script(on)

    asyncio.run(run())


def test_discovery_reports_every_gpu_with_what_travels_with_it(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        result = await on.do(on.pen.discover())
        assert result.status == DONE
        assert result.topology.gpu_family == "h100"
        assert len({slot.gpu_uuid for slot in result.topology.slots}) == 8
        assert len({slot.nvme_serial for slot in result.topology.slots}) == 8
        assert [slot.numa_node for slot in result.topology.slots] == [0] * 4 + [1] * 4
        assert all(check.passed for check in result.topology.readiness)

    play(tmp_path, script)


def test_a_lease_is_given_and_taken_back_with_a_proof_for_each_slot(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        lease = allocation()
        up = await on.do(on.pen.provision(lease, on.pen.gpu(0), on.pen.gpu(1)))
        assert up.status == DONE
        assert list(up.runtime.gpu_uuids) == [on.pen.gpu(i).gpu_uuid for i in (0, 1)]
        slots = [on.pen.gpu(0, nonce=b"zero"), on.pen.gpu(1, nonce=b"one")]
        down = await on.do(on.pen.release(lease, *slots))
        assert down.status == DONE
        for slot, proof in zip(slots, on.pen.proofs(down), strict=True):
            assert (proof.node_id, proof.allocation_id) == (on.pen.node_id, lease)
            assert (proof.slot_id, proof.fence) == (slot.slot_id, slot.fence)
            assert proof.nonce == slot.cleanup_nonce
            assert tuple(step.name for step in proof.steps) == STEPS
            assert all(step.passed for step in proof.steps)

    play(tmp_path, script)


def test_a_step_that_the_host_does_not_know_does_not_pass(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        slot = on.pen.gpu(0, nonce=b"n")
        slot.cleanup_steps.append("moon.howled_at")
        result = await on.do(on.pen.release(allocation(), slot))
        (proof,) = on.pen.proofs(result)
        assert result.status == DONE
        assert (proof.steps[-1].passed, proof.steps[-1].detail) == (False, "unknown step")

    play(tmp_path, script)


def test_a_repeated_task_returns_its_first_result_and_has_no_second_effect(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        task = on.pen.provision(allocation(), on.pen.gpu(0))
        first = await on.do(task)
        assert await on.do(task) == first
        await on.order(task, task)
        assert [await on.result(), await on.result()] == [first, first]

    play(tmp_path, script, fault(Call.VM_PROVISION, Action.FAIL))


def test_a_task_repeated_while_it_runs_has_one_effect(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        task = on.pen.discover()
        await on.order(task, task)
        assert await on.result() == await on.result()
        # Of the two failures in store, the two entries have used one.
        statuses = [(await on.do(on.pen.discover())).status for _ in range(2)]
        assert statuses == [FAILED, DONE]

    play(tmp_path, script, replace(fault(Call.TOPOLOGY_DISCOVER, Action.FAIL), times=2))


def test_tasks_of_one_allocation_follow_each_other(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        lease, slot = allocation(), on.pen.gpu(0, nonce=b"n")
        hanging, waiting = on.pen.release(lease, slot), on.pen.release(lease, slot)
        hanging.deadline_us = now_us() + 100_000
        first, second = await on.results(hanging, waiting)
        assert (first.status, second.status) == (EXPIRED, DONE)
        assert first.finished_at_us <= second.finished_at_us

    play(tmp_path, script, fault(Call.VM_RELEASE, Action.HANG))


def test_a_stale_fence_changes_nothing(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        old, new = allocation(), allocation()
        assert (await on.do(on.pen.provision(new, on.pen.gpu(0, fence=5)))).status == DONE
        for task in (
            on.pen.provision(old, on.pen.gpu(0, fence=4)),
            on.pen.release(old, on.pen.gpu(0, fence=4, nonce=b"n")),
            on.pen.release(new, on.pen.gpu(0, fence=4, nonce=b"n")),
            on.pen.provision(old, on.pen.gpu(1, fence=1), on.pen.gpu(0, fence=4)),
            on.pen.provision(old, on.pen.gpu(0, fence=5)),
        ):
            result = await on.do(task)
            assert (result.status, "fence" in result.reason) == (REFUSED, True)
        again = await on.do(on.pen.provision(new, on.pen.gpu(0, fence=5)))
        assert again.status == DONE
        free = await on.do(on.pen.provision(allocation(), on.pen.gpu(1, fence=1)))
        assert free.status == DONE  # the refused task left no fence behind on its other slot

    play(tmp_path, script)


def test_a_released_fence_gives_nothing_out_again(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        lease = allocation()
        assert (await on.do(on.pen.release(lease, on.pen.gpu(0, nonce=b"n")))).status == DONE
        late = await on.do(on.pen.provision(lease, on.pen.gpu(0)))
        assert (late.status, "is released" in late.reason) == (REFUSED, True)
        later = await on.do(on.pen.provision(allocation(), on.pen.gpu(0, fence=2)))
        assert later.status == DONE

    play(tmp_path, script)


def test_a_release_cancels_a_provision_that_hangs(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        lease = allocation()
        given, taken = await on.results(
            on.pen.provision(lease, on.pen.gpu(0)),
            on.pen.release(lease, on.pen.gpu(0, nonce=b"n")),
        )
        assert (given.status, given.reason) == (FAILED, "cancelled by release")
        assert taken.status == DONE
        assert given.finished_at_us <= taken.finished_at_us

    play(tmp_path, script, fault(Call.VM_PROVISION, Action.HANG))


def test_a_stale_release_does_not_cancel_what_runs(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        lease = allocation()
        await on.order(on.pen.provision(lease, on.pen.gpu(0, fence=7)))
        stale = await on.do(on.pen.release(lease, on.pen.gpu(0, fence=6, nonce=b"n")))
        assert stale.status == REFUSED
        await on.order(on.pen.release(lease, on.pen.gpu(0, fence=7, nonce=b"n")))
        assert {(await on.result()).reason, (await on.result()).reason} == {
            "",
            "cancelled by release",
        }

    play(tmp_path, script, fault(Call.VM_PROVISION, Action.HANG))


def test_a_task_that_outlives_its_deadline_is_stopped(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        late, hanging = on.pen.discover(), on.pen.provision(allocation(), on.pen.gpu(0))
        late.deadline_us = now_us() - 1
        hanging.deadline_us = now_us() + 50_000
        results = await on.results(late, hanging)
        assert [result.status for result in results] == [EXPIRED, EXPIRED]

    play(tmp_path, script, fault(Call.VM_PROVISION, Action.HANG))


def test_one_slot_is_never_in_two_hands(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        pen = on.pen
        assert (await on.do(pen.provision(allocation(), pen.gpu(0, fence=1)))).status == DONE
        for task in (
            pen.provision(allocation(), pen.gpu(0, fence=2)),
            pen.assign(allocation(), pen.chassis(), pen.gpu(1)),
        ):
            result = await on.do(task)
            assert result.status == FAILED
            assert "in use" in result.reason or "never shared" in result.reason

    play(tmp_path, script)


def test_a_whole_host_is_assigned_released_and_reimaged(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        pen, lease = on.pen, allocation()
        gpus = [pen.gpu(i) for i in range(8)]
        up = await on.do(pen.assign(lease, pen.chassis(), *gpus))
        assert (up.status, len(up.runtime.gpu_uuids)) == (DONE, 8)
        slice_beside = await on.do(pen.provision(allocation(), pen.gpu(0, fence=2)))
        assert slice_beside.status == FAILED
        await on.do(pen.unassign(lease, pen.chassis(nonce=b"c")))
        # The failed slice put fence 2 of slot 0 in force, so its old claim cannot end there.
        cleaned = [pen.gpu(i, nonce=b"g") for i in range(1, 8)]
        down = await on.do(pen.unassign(lease, pen.chassis(nonce=b"c"), *cleaned))
        names = [[step.name for step in proof.steps] for proof in pen.proofs(down)]
        assert names == [["host.reimaged", "firmware.verified"], *[list(STEPS)] * 7]

    play(tmp_path, script)


@pytest.mark.parametrize("lie", [Lie.OMIT_STEP, Lie.WRONG_FENCE, Lie.WRONG_NONCE, Lie.NOTHING])
def test_a_lying_host_leaves_its_slot_dirty(tmp_path: Path, lie: Lie) -> None:
    async def script(on: Stage) -> None:
        lease = allocation()
        await on.do(on.pen.provision(lease, on.pen.gpu(0)))
        lied = await on.do(on.pen.release(lease, on.pen.gpu(0, nonce=b"n")))
        (proof,) = on.pen.proofs(lied)
        honest = proof.fence == 1 and proof.nonce == b"n" and len(proof.steps) == len(STEPS)
        assert honest == (lie is Lie.NOTHING)
        next_one = await on.do(on.pen.provision(allocation(), on.pen.gpu(0, fence=2)))
        assert next_one.status == FAILED

    play(tmp_path, script, fault(Call.VM_RELEASE, Action.LIE, lie))


def test_a_failed_step_is_told_and_the_next_release_mends_it(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        lease = allocation()
        await on.do(on.pen.provision(lease, on.pen.gpu(0)))
        releases = [on.pen.release(lease, on.pen.gpu(0, nonce=b"n")) for _ in range(2)]
        results = await on.results(*releases)
        passed = [[step.passed for step in on.pen.proofs(result)[0].steps] for result in results]
        assert passed == [[True, True, True, False], [True] * 4]
        assert (await on.do(on.pen.provision(allocation(), on.pen.gpu(0, fence=2)))).status == DONE

    play(tmp_path, script, fault(Call.VM_RELEASE, Action.FAIL_STEP, step="nvme.erased"))


def test_a_slot_with_a_failed_step_is_not_given_out(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        lease = allocation()
        await on.do(on.pen.provision(lease, on.pen.gpu(0)))
        await on.do(on.pen.release(lease, on.pen.gpu(0, nonce=b"n")))
        result = await on.do(on.pen.provision(allocation(), on.pen.gpu(0, fence=2)))
        assert (result.status, "not clean after" in result.reason) == (FAILED, True)

    play(tmp_path, script, fault(Call.VM_RELEASE, Action.FAIL_STEP, step="nvme.erased"))


def test_wrong_gpus_are_claimed_by_a_lying_provision(tmp_path: Path) -> None:
    async def script(on: Stage) -> None:
        result = await on.do(on.pen.provision(allocation(), on.pen.gpu(0)))
        assert on.pen.gpu(0).gpu_uuid not in result.runtime.gpu_uuids

    play(tmp_path, script, fault(Call.VM_PROVISION, Action.LIE, Lie.WRONG_GPUS))


def test_a_restart_carries_out_what_was_received_and_not_done(tmp_path: Path) -> None:
    pen, lease = Pen(), allocation()
    task = pen.provision(lease, pen.gpu(0))

    async def before() -> None:
        async with stage(tmp_path, pen, fault(Call.VM_PROVISION, Action.HANG)) as on:
            await on.order(task)
            # A discovery that is answered shows that the provision before it has begun.
            await on.do(pen.discover())

    async def after() -> None:
        async with stage(tmp_path, pen) as on:
            result = await on.result()
            assert (result.task_id, result.status) == (task.task_id, DONE)

    asyncio.run(before())
    asyncio.run(after())


def test_results_and_fences_outlive_a_restart(tmp_path: Path) -> None:
    pen, lease = Pen(), allocation()
    task = pen.provision(lease, pen.gpu(0, fence=3))

    async def life(*tasks: Task) -> list[TaskResult]:
        async with stage(tmp_path, pen) as on:
            return await on.results(*tasks)

    first = asyncio.run(life(task))
    assert asyncio.run(life(task)) == first
    stale = asyncio.run(life(pen.provision(allocation(), pen.gpu(0, fence=2))))
    assert stale[0].status == REFUSED


def test_an_executor_rests_when_everything_was_done_before_it_started(tmp_path: Path) -> None:
    pen = Pen()

    async def first() -> None:
        async with stage(tmp_path, pen) as on:
            await on.do(pen.discover())

    async def second() -> float:
        async with stage(tmp_path, pen):
            began = time.process_time()
            await asyncio.sleep(0.2)
            return time.process_time() - began

    asyncio.run(first())
    assert asyncio.run(second()) < 0.05
