"""Two planes' databases, and their wakeups."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest

from penstock.kernel import db
from penstock.kernel.db import Database
from penstock.kernel.wakeups import Wakeups


@asynccontextmanager
async def listening(url: str) -> AsyncGenerator[Wakeups, None]:
    wakeups = Wakeups(url)
    task = asyncio.create_task(wakeups.listen())
    await wakeups.listening.wait()
    try:
        yield wakeups
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
async def upper(central_url: str) -> AsyncGenerator[Database, None]:
    """The plane that sends."""
    database = await db.connect(central_url, "central")
    yield database
    await database.close()


@pytest.fixture
async def lower(site_url: str) -> AsyncGenerator[Database, None]:
    """The plane that receives."""
    database = await db.connect(site_url, "site")
    yield database
    await database.close()


@pytest.fixture
async def wakeups(central_url: str) -> AsyncGenerator[Wakeups, None]:
    async with listening(central_url) as heard:
        yield heard
