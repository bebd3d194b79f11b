"""Consumers that are real processes, killed while they handle events."""

import asyncio
import random
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest

from penstock.kernel import events
from penstock.kernel.db import Database

from . import diary

pytestmark = pytest.mark.anyio

CONSUMER = Path(__file__).with_name("consumer.py")
EVENTS = 700


class Consumers:
    """Two processes that consume under one name."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._reading: dict[Process, asyncio.Task[None]] = {}
        self._last: Process | None = None
        self._heard = asyncio.Event()

    async def start(self) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(CONSUMER), self._url, stdout=PIPE
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        self._reading[process] = asyncio.create_task(self._read(process, process.stdout))

    async def _read(self, process: Process, lines: asyncio.StreamReader) -> None:
        while await lines.readline():
            self._last = process
            self._heard.set()

    async def kill_the_busy_one(self, pause_s: float) -> None:
        """A moment after it began with another event; or, if all is done, any."""
        self._heard.clear()
        try:
            async with asyncio.timeout(2):
                await self._heard.wait()
        except TimeoutError:
            pass
        await asyncio.sleep(pause_s)
        await self._kill(self._last or next(iter(self._reading)))
        self._last = None

    async def _kill(self, process: Process) -> None:
        process.kill()
        await process.wait()
        await self._reading.pop(process)

    async def stop(self) -> None:
        for process in list(self._reading):
            await self._kill(process)


async def happen(database: Database, names: list[str]) -> None:
    for start in range(0, len(names), 10):
        async with database.transaction() as tx:
            for name in names[start : start + 10]:
                events.emit(tx, "thing.changed", name)


async def test_consumers_killed_again_and_again_handle_each_event_once_and_in_order(
    upper: Database, central_url: str
) -> None:
    await diary.prepare(central_url, "central")
    expected = [f"thing_{number}" for number in range(EVENTS)]
    rng = random.Random(11)
    running = Consumers(central_url)
    await running.start()
    await running.start()
    happening = asyncio.create_task(happen(upper, expected))
    kills = 0
    try:
        async with asyncio.timeout(90):
            while len(await diary.read(upper)) < EVENTS:
                await running.kill_the_busy_one(rng.uniform(0, 0.1))
                await running.start()
                kills += 1
    finally:
        await running.stop()
        await happening
    assert kills >= 2, "it was killed while it worked"
    assert await diary.read(upper) == expected
