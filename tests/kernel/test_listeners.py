"""What must be said when a link breaks is said, however often whoever says it is cancelled."""

import asyncio

import pytest

from penstock.kernel import listeners

pytestmark = pytest.mark.anyio


async def test_a_peer_that_left_is_noted_though_its_link_is_cancelled_twice() -> None:
    begun, answered, noted = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def note() -> None:
        begun.set()
        await answered.wait()  # by the database
        noted.set()

    async def serve() -> None:
        try:
            raise ConnectionError
        finally:
            await listeners.to_the_end(note())

    serving = asyncio.create_task(serve())
    await begun.wait()
    for _ in range(2):
        serving.cancel()
        await asyncio.sleep(0)
    assert not serving.done()
    answered.set()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert noted.is_set()


async def test_who_was_cancelled_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "CANCELLED_S_MAX", 0.01)
    begun = asyncio.Event()

    async def note() -> None:
        begun.set()
        await asyncio.Event().wait()  # the database never answers

    serving = asyncio.create_task(listeners.to_the_end(note()))
    await begun.wait()
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(serving, 20)
