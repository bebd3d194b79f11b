"""Waiting for what a plane does by itself: the database tells, and then one looks."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from penstock.kernel.wakeups import Wakeups

T = TypeVar("T")


async def until(url: str, name: str, look: Callable[[], Awaitable[T]], *, seconds: int = 20) -> T:
    """What `look` finds, once it finds something. It looks whenever `name` is told of."""
    wakeups = Wakeups(url)
    listening = asyncio.create_task(wakeups.listen())
    try:
        async with asyncio.timeout(seconds):
            with wakeups.subscribe(name) as wakeup:
                while True:
                    await wakeup.wait()  # the first time, as soon as it listens
                    found = await look()
                    if found:
                        return found
    finally:
        listening.cancel()
