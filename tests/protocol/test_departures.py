"""A central that stood still places nothing for clients that are gone."""

import asyncio
import signal
from pathlib import Path
from typing import Final

import pytest

from penstock.kernel.stalls import STALL_S

from . import callers
from .callers import Scene

pytestmark = pytest.mark.anyio

LEAVING: Final = 12
BEFORE_COMMIT: Final = "central.placement.before_commit"


async def test_who_left_while_it_stood_still_gets_no_lease(
    central_url: str, tmp_path: Path
) -> None:
    """Their requests, and that they left, wait unread in the sockets."""
    async with callers.central(central_url, tmp_path) as scene:
        await told_of_one(scene, "before")  # whose key it is was seen, so it is not asked for first
        await scene.freeze()
        for number in range(LEAVING):
            call = await scene.call(f"left-{number}")
            call.leave() if number % 2 else call.leave_by_half()
        waits = await scene.call("waits")
        scene.tell(signal.SIGCONT)
        status, lease = await waits.answer()
        assert (status, lease["status"]) == (201, "placed")
        await told_of_one(scene, "after")
        assert await scene.leased() == 3, "nobody was told of the others"
        # Nothing was answered to their keys.
        status, _ = await (await scene.call("left-0")).answer()
        assert status == 201


async def test_what_waited_when_it_stood_still_is_dropped_and_may_be_asked_again(
    central_url: str, tmp_path: Path
) -> None:
    """It is stopped in the middle of a batch, just before it commits."""
    async with callers.central(central_url, tmp_path) as scene:
        scene.arm(BEFORE_COMMIT, "stop")
        leaves, waits = await scene.call("leaves"), await scene.call("waits")
        await scene.until_stopped()
        leaves.leave()
        await asyncio.sleep(STALL_S + 1)  # that it stands still is what is tested
        scene.tell(signal.SIGCONT)
        status, refusal = await waits.answer()
        assert (status, refusal["code"]) == (503, "unavailable")
        assert await scene.leased() == 0
        status, _ = await (await scene.call("waits")).answer()
        assert status == 201
        assert await scene.leased() == 1


async def test_who_leaves_during_a_long_batch_gets_no_lease(
    central_url: str, tmp_path: Path
) -> None:
    """Too short to count as standing still; the other one of the batch is served."""
    async with callers.central(central_url, tmp_path) as scene:
        scene.arm(BEFORE_COMMIT, "stop")
        leaves, waits = await scene.call("leaves"), await scene.call("waits")
        await scene.until_stopped()
        leaves.leave()
        await asyncio.sleep(1.5)
        scene.tell(signal.SIGCONT)
        status, _ = await waits.answer()
        assert status == 201
        await told_of_one(scene, "after")
        assert await scene.leased() == 2


async def told_of_one(scene: Scene, key: str) -> None:
    status, _ = await (await scene.call(key)).answer()
    assert status == 201
