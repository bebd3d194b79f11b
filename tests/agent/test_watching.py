"""What of a host does not pass is told: whole, once, and only as changes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from penstock_agent import watching
from penstock_agent.simulated.faults import Action, Ailment, Fault, Listed
from penstock_agent.simulated.faults import Task as Call
from penstock_contracts.wire_pb2 import TaskStatus

from .stage import HARDWARE, Pen, Stage, allocation, stage

XID = Ailment("gpu.xid", 3, node="", detail="XID 79: the GPU has fallen off the bus")
HOT = Ailment("gpu.temperature", 0, node="", detail="94 °C")
ELSEWHERE = Ailment("gpu.xid", 3, node="another-node", detail="not ours")


@asynccontextmanager
async def watched(folder: Path, pen: Pen, *faults: Fault) -> AsyncGenerator[Stage]:
    async with stage(folder, pen, *faults) as on:
        running = asyncio.create_task(watching.run(on.node, pause_s=0.01))
        try:
            yield on
        finally:
            running.cancel()
            await asyncio.wait([running])


async def problems(on: Stage) -> set[tuple[str, str, str]]:
    """Of the next message, which nobody asked for."""
    said = await on.result()
    assert (said.task_id, said.WhichOneof("output")) == ("", "health")
    assert said.node_id == on.pen.node_id
    return {(one.check, one.subject, one.detail) for one in said.health.problems}


def test_health_is_told_when_it_changes_and_whole_each_time(tmp_path: Path) -> None:
    async def run() -> None:
        async with watched(tmp_path, Pen()) as on:
            on.faults.listed = Listed(health=(XID, ELSEWHERE))
            xid = ("gpu.xid", HARDWARE.slots[3].gpu_uuid, XID.detail)
            assert await problems(on) == {xid}
            on.faults.listed = Listed(health=(XID, HOT))
            hot = ("gpu.temperature", HARDWARE.slots[0].gpu_uuid, HOT.detail)
            assert await problems(on) == {xid, hot}
            on.faults.listed = Listed(health=(replace(HOT, detail="97 °C"),))
            assert await problems(on) == {(*hot[:2], "97 °C")}
            on.faults.listed = Listed()
            assert await problems(on) == set()

    asyncio.run(run())


def test_what_is_known_is_not_told_again_after_a_restart_and_what_mended_is(tmp_path: Path) -> None:
    pen = Pen()

    async def before() -> None:
        async with watched(tmp_path, pen) as on:
            on.faults.listed = Listed(health=(XID,))
            assert len(await problems(on)) == 1

    async def same() -> None:
        async with watched(tmp_path, pen) as on:
            on.faults.listed = Listed(health=(XID,))
            await asyncio.sleep(0.1)  # longer than the pause: it would have been said
            head = await on.journal.head()
            assert head == on.pen.read

    async def mended() -> None:
        async with watched(tmp_path, pen) as on:
            assert await problems(on) == set()

    asyncio.run(before())
    asyncio.run(same())
    asyncio.run(mended())


def test_a_runtime_that_ended_by_itself_is_told_until_it_is_released(tmp_path: Path) -> None:
    ends = Fault(Call.VM_PROVISION, Action.END_RUNTIME, 1, "", None, "", "", "")

    async def run() -> None:
        pen, lease = Pen(), allocation()
        async with watched(tmp_path, pen, ends) as on:
            await on.order(pen.provision(lease, pen.gpu(0)))
            said = [await on.result(), await on.result()]
            (up,) = [one for one in said if one.task_id]
            (told,) = [one for one in said if not one.task_id]
            assert up.status == TaskStatus.TASK_STATUS_DONE
            (problem,) = told.health.problems
            assert (problem.check, problem.subject) == ("runtime.running", lease)
            (holding,) = await on.host.holds()
            assert (holding.allocation_id, holding.runtime_id) == (lease, "")
            await on.order(pen.release(lease, pen.gpu(0, nonce=b"n")))
            said = [await on.result(), await on.result()]
            assert [len(one.health.problems) for one in said if not one.task_id] == [0]

    asyncio.run(run())


def test_a_host_with_countless_problems_is_told_in_bounds(tmp_path: Path) -> None:
    many = tuple(
        Ailment(f"check-{number:04d}", -1, "", "x" * 400)
        for number in range(watching.PROBLEMS_MAX + 7)
    )

    async def run() -> None:
        async with watched(tmp_path, Pen()) as on:
            on.faults.listed = Listed(health=many)
            said = await on.result()
            while said.health.more != 7:  # it may have begun to tell before it knew all
                said = await on.result()
            assert len(said.health.problems) == watching.PROBLEMS_MAX
            assert all(len(one.detail) == watching.DETAIL_MAX for one in said.health.problems)

    asyncio.run(run())
