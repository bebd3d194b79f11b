"""A replica that is told to end leaves nobody in its placement queue."""

import asyncio
from collections.abc import Sequence

import pytest

from penstock.central.placement.queue import Ask, Outcome, Queue
from penstock.kernel.errors import Conflict, Restarting

from .fleet_stage import Stage

pytestmark = pytest.mark.anyio


async def test_told_to_end_the_queue_finishes_its_batch_and_refuses_who_waits() -> None:
    begun, let = asyncio.Event(), asyncio.Event()
    refusal = Conflict("no room")

    async def commit(asks: Sequence[Ask]) -> list[Outcome]:
        begun.set()
        await let.wait()
        return [refusal] * len(asks)

    stage = Stage(None, None, None, {})  # pyright: ignore[reportArgumentType] # only asks are made
    queue = Queue(commit)
    running = asyncio.create_task(queue.run())
    under_way = asyncio.create_task(queue.submit(stage.ask()))
    await begun.wait()
    waits = asyncio.create_task(queue.submit(stage.ask()))
    await asyncio.sleep(0)
    finishing = asyncio.create_task(queue.finish())
    with pytest.raises(Restarting):
        await waits
    assert not finishing.done(), "the batch is under way"
    let.set()
    with pytest.raises(Conflict):
        await under_way
    await finishing
    with pytest.raises(Restarting):
        await queue.submit(stage.ask())
    running.cancel()
