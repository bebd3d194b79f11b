"""Durable consumers in one process: begin, order, failures, cursors of their own."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest
from prometheus_client import REGISTRY

from penstock.kernel import consumers, events, invariants
from penstock.kernel.consumers import Begin, Handler
from penstock.kernel.db import Database, Tx
from penstock.kernel.events import Event
from penstock.kernel.wakeups import Wakeups

from . import diary

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def a_diary(central_url: str) -> None:
    await diary.prepare(central_url, "central")


async def happen(database: Database, *subjects: str) -> None:
    async with database.transaction() as tx:
        for subject in subjects:
            events.emit(tx, "thing.changed", subject)


async def note(tx: Tx, event: Event) -> None:
    await diary.write(tx, event.subject.encode())


@asynccontextmanager
async def consuming(
    database: Database,
    wakeups: Wakeups,
    handler: Handler = note,
    *,
    name: str = "diary",
    begin: Begin = Begin.START,
) -> AsyncGenerator[None, None]:
    task = asyncio.create_task(consumers.consume(database, wakeups, name, handler, begin=begin))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def cursor(database: Database, name: str = "diary") -> int | None:
    async with database.transaction() as tx:
        seq: int | None = await tx.fetchval("SELECT seq FROM event_consumers WHERE name = $1", name)
    return seq


async def reached(database: Database, seq: int, name: str = "diary") -> None:
    async with asyncio.timeout(20):
        while await cursor(database, name) != seq:  # noqa: ASYNC110 # nobody tells of a cursor
            await asyncio.sleep(0.01)


async def test_a_new_consumer_begins_with_the_whole_log_or_with_what_comes(
    upper: Database, wakeups: Wakeups
) -> None:
    await happen(upper, "old")
    heard: list[str] = []

    async def hear(_tx: Tx, event: Event) -> None:
        heard.append(event.subject)

    async with (
        consuming(upper, wakeups),
        consuming(upper, wakeups, hear, name="late", begin=Begin.HEAD),
    ):
        await reached(upper, 1, "late")
        await happen(upper, "new")
        await reached(upper, 2)
        await reached(upper, 2, "late")
    assert await diary.read(upper) == ["old", "new"]
    assert heard == ["new"]


async def test_a_consumer_that_starts_again_goes_on_where_it_was(
    upper: Database, wakeups: Wakeups
) -> None:
    for begin in Begin:
        await happen(upper, f"before {begin}")
        async with consuming(upper, wakeups, begin=begin):
            await reached(upper, 1 if begin is Begin.START else 2)
    assert await diary.read(upper) == ["before start", "before head"]


async def test_an_event_that_cannot_be_handled_is_tried_again_and_nothing_overtakes_it(
    upper: Database, wakeups: Wakeups
) -> None:
    tried: list[str] = []

    async def fail_twice(tx: Tx, event: Event) -> None:
        await note(tx, event)  # an effect before the failure: it must not stay
        tried.append(event.subject)
        if event.subject == "unlucky" and tried.count("unlucky") < 3:
            raise ValueError("not today")

    await happen(upper, "first", "unlucky", "last")
    failed = _failures("patient")
    async with consuming(upper, wakeups, fail_twice, name="patient"):
        await reached(upper, 3, "patient")
    assert await diary.read(upper) == ["first", "unlucky", "last"]
    assert tried.count("unlucky") == 3
    assert _failures("patient") - failed == 2


async def test_what_a_handler_emits_is_part_of_its_effects(
    upper: Database, wakeups: Wakeups
) -> None:
    async def answer(tx: Tx, event: Event) -> None:
        if event.type == "thing.changed":
            events.emit(tx, "thing.noticed", event.subject)
        await note(tx, event)

    await happen(upper, "a", "b")
    async with consuming(upper, wakeups, answer):
        await reached(upper, 4)
    assert await diary.read(upper) == ["a", "b", "a", "b"]


async def test_an_event_that_was_trimmed_before_it_was_handled_is_seen(
    upper: Database, wakeups: Wakeups, central_url: str
) -> None:
    async def missed() -> int:
        async with upper.transaction() as tx:
            return {i.name: i.violations for i in await invariants.check(tx)}["events_missed"]

    async with consuming(upper, wakeups):
        await happen(upper, "handled")
        await reached(upper, 1)
    await diary.above_the_walls(central_url, "DELETE FROM events")
    assert await missed() == 0
    await happen(upper, "not handled", "neither")
    assert await missed() == 0
    await diary.above_the_walls(central_url, "DELETE FROM events WHERE seq = 2")
    assert await missed() == 1
    await diary.above_the_walls(central_url, "DELETE FROM events")
    assert await missed() == 1


def _failures(name: str) -> float:
    found = REGISTRY.get_sample_value("penstock_consumer_failures_total", {"consumer": name})
    return found or 0.0
