"""Turns: everybody has one before anybody has the next."""

import asyncio

import pytest

from penstock.kernel.turns import Turns

pytestmark = pytest.mark.anyio


async def work(turns: Turns, who: str, done: list[str]) -> None:
    async with turns.turn(who):
        done.append(who)
        await asyncio.sleep(0)


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_names_take_turns_however_many_each_waits_with() -> None:
    turns, done = Turns(1), list[str]()
    names = ["flood"] * 10 + ["ann", "bob", "bob"]
    await asyncio.gather(*(work(turns, name, done) for name in names))
    assert done[:5] == ["flood", "flood", "ann", "bob", "flood"]
    assert done.index("bob") < 4
    assert sorted(done) == sorted(names)


async def test_no_more_than_so_many_at_once() -> None:
    turns, inside, most = Turns(2), 0, 0

    async def measured(who: str) -> None:
        nonlocal inside, most
        async with turns.turn(who):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(measured(f"{n % 3}") for n in range(30)))
    assert most == 2


async def test_who_gives_up_waiting_loses_nobody_a_turn() -> None:
    turns, done = Turns(1), list[str]()
    async with turns.turn("first"):
        waiting = [asyncio.create_task(work(turns, n, done)) for n in ("a", "b", "b", "c")]
        await settled()
        waiting[0].cancel()
        waiting[1].cancel()
        await settled()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert sorted(done) == ["b", "c"]
    async with asyncio.timeout(5), turns.turn("again"):
        pass


async def test_who_is_cancelled_just_as_its_turn_comes_passes_it_on() -> None:
    turns, done = Turns(1), list[str]()
    async with turns.turn("first"):
        waiting = [asyncio.create_task(work(turns, n, done)) for n in ("a", "b")]
        await settled()
    waiting[0].cancel()  # it was given the turn, and has not run since
    await asyncio.gather(*waiting, return_exceptions=True)
    assert done == ["b"]
    async with asyncio.timeout(5), turns.turn("again"):
        pass
