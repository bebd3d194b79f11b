"""Reading many rows some at a time, while those before are used."""

import asyncio
from collections.abc import Callable

import pytest

from penstock.kernel.db import Database, Record

pytestmark = pytest.mark.anyio

ROWS = "SELECT generate_series(1, 10) AS n"
SLOW = "SELECT pg_sleep(CASE WHEN n > 2 THEN 60 ELSE 0 END) FROM generate_series(1, 9) AS n"


@pytest.mark.parametrize("at_once", [1, 3, 5, 10, 11])
async def test_every_row_is_used_once_and_in_order(upper: Database, at_once: int) -> None:
    used: list[list[int]] = []
    async with upper.transaction() as tx:
        await tx.each(ROWS, lambda rows: used.append([row["n"] for row in rows]), at_once=at_once)
        assert await tx.fetchval("SELECT 7") == 7
    assert [n for some in used for n in some] == list(range(1, 11))
    assert max(map(len, used)) <= at_once


async def test_of_no_rows_nothing_is_used(upper: Database) -> None:
    used: list[list[Record]] = []
    async with upper.transaction() as tx:
        await tx.each("SELECT WHERE false", used.append, at_once=3)
    assert used == []


async def test_after_a_failure_the_transaction_ends_as_always(upper: Database) -> None:
    def fail(rows: list[Record]) -> None:
        raise ValueError(rows[0]["n"])

    for _ in range(20):  # more than the pool has: none of its connections is lost
        with pytest.raises(ValueError, match="1"):
            await _each(upper, fail)
    assert await upper.run(lambda tx: tx.fetchval("SELECT 7")) == 7


async def _each(database: Database, use: Callable[[list[Record]], None]) -> None:
    async with database.transaction() as tx:
        await tx.each(ROWS, use, at_once=2)


async def test_who_gives_up_meanwhile_leaves_nothing_behind(upper: Database) -> None:
    began = asyncio.Event()

    async def read() -> None:
        async with upper.transaction() as tx:
            await tx.each(
                SLOW,
                lambda _rows: began.set(),
                at_once=1,
            )

    async with asyncio.timeout(20):
        reading = asyncio.create_task(read())
        await began.wait()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    assert reading.cancelled()
    assert await upper.run(lambda tx: tx.fetchval("SELECT 7")) == 7
