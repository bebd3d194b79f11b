"""The agent's journal on a full disk: it waits for room, loses nothing, and can be closed."""

import asyncio
import sqlite3
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from penstock_agent import database

from . import small_disk
from .small_disk import SmallDisk

SCHEMA = "CREATE TABLE kept (number INTEGER PRIMARY KEY, filler BLOB) STRICT;"
WAIT_S_MAX = 20


@pytest.fixture
def disk(folder: Path) -> Generator[SmallDisk]:
    with small_disk.mounted(folder / "disk", megabytes=1) as made:
        yield made


def keep(number: int) -> Callable[[sqlite3.Connection], None]:
    def work(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO kept VALUES (?, randomblob(60000))", (number,))

    return work


def numbers(db: sqlite3.Connection) -> list[int]:
    return [number for (number,) in db.execute("SELECT number FROM kept ORDER BY number")]


def test_what_finds_no_room_waits_and_is_written_once_there_is(disk: SmallDisk) -> None:
    path = disk.folder / "journal.db"

    async def scene() -> None:
        with database.opened(path, SCHEMA) as kept:
            await kept.run(keep(1))
            disk.fill()
            waiting = [asyncio.create_task(kept.run(keep(number))) for number in (2, 3)]
            given_up = asyncio.create_task(kept.run(keep(4)))
            done, _ = await asyncio.wait({*waiting, given_up}, timeout=1)
            assert not done
            given_up.cancel()
            disk.free()
            async with asyncio.timeout(WAIT_S_MAX):
                await asyncio.gather(*waiting)
        with database.opened(path, SCHEMA) as kept:
            assert await kept.run(numbers) == [1, 2, 3]

    asyncio.run(scene())


def test_a_journal_that_waits_for_room_can_be_closed(disk: SmallDisk) -> None:
    path = disk.folder / "journal.db"

    async def scene() -> None:
        with database.opened(path, SCHEMA) as kept:
            await kept.run(keep(1))
            disk.fill()
            waiting = asyncio.create_task(kept.run(keep(2)))
            done, _ = await asyncio.wait({waiting}, timeout=1)
            assert not done
        with pytest.raises(sqlite3.OperationalError, match="full"):
            await waiting
        disk.free()
        with database.opened(path, SCHEMA) as kept:
            assert await kept.run(numbers) == [1]

    asyncio.run(scene())
