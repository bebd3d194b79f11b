"""The journal loses nothing and doubles nothing, whatever the connection does."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from penstock_agent import database, journal
from penstock_agent.database import Database, DatabaseUnusable
from penstock_agent.journal import NodeJournal
from penstock_contracts import link
from penstock_contracts.wire_pb2 import Entry


def entries(first: int, last: int) -> list[Entry]:
    return [Entry(seq=i, previous=i - 1, body=b"%d" % i) for i in range(first, last + 1)]


def play(folder: Path, script: Callable[[NodeJournal, Database], Awaitable[None]]) -> None:
    async def run() -> None:
        with database.opened(folder / "journal.db", journal.SCHEMA) as kept:
            await script(await journal.of_node(kept, "node_a"), kept)

    asyncio.run(run())


def test_entries_that_come_again_are_stored_once_also_after_a_restart(tmp_path: Path) -> None:
    async def first(own: NodeJournal, _: Database) -> None:
        assert await own.apply(entries(1, 3)) == 3
        assert await own.apply(entries(2, 4)) == 4

    async def second(own: NodeJournal, _: Database) -> None:
        assert await own.cursor() == 4
        assert await own.apply(entries(1, 4)) == 4
        assert [entry.seq for entry in await own.pending(0, 10)] == [1, 2, 3, 4]

    play(tmp_path, first)
    play(tmp_path, second)


def test_a_gap_is_refused_and_stores_nothing(tmp_path: Path) -> None:
    async def script(own: NodeJournal, _: Database) -> None:
        with pytest.raises(link.ProtocolViolated):
            await own.apply([*entries(1, 1), *entries(3, 3)])
        with pytest.raises(link.ProtocolViolated):
            await own.apply([Entry(seq=1 << 63, previous=0)])
        assert await own.cursor() == 0
        assert await own.pending(0, 10) == []

    play(tmp_path, script)


def test_results_are_numbered_without_gaps_and_kept_until_acknowledged(tmp_path: Path) -> None:
    async def first(own: NodeJournal, _: Database) -> None:
        await own.apply(entries(1, 3))
        for seq in (1, 2, 3):
            await own.finish(seq, f"task-{seq}", b"r%d" % seq, 0)
        await own.acknowledge(2)

    async def second(own: NodeJournal, _: Database) -> None:
        assert await own.read(0, 10) == [link.Outgoing(3, b"r3")]
        await own.apply(entries(4, 4))
        assert await own.repeat(4, "task-1")
        assert not await own.repeat(4, "task-unknown")
        assert await own.read(3, 10) == [link.Outgoing(4, b"r1")]
        assert await own.pending(0, 10) == []

    play(tmp_path, first)
    play(tmp_path, second)


def test_the_first_result_of_a_task_stays_its_result(tmp_path: Path) -> None:
    async def script(own: NodeJournal, _: Database) -> None:
        await own.apply(entries(1, 2))
        await own.finish(1, "task", b"first", 0)
        await own.finish(2, "task", b"second", 0)
        assert [entry.body for entry in await own.read(0, 10)] == [b"first", b"first"]

    play(tmp_path, script)


def test_a_lost_journal_goes_on_after_what_the_site_has_read(tmp_path: Path) -> None:
    async def script(own: NodeJournal, _: Database) -> None:
        await own.apply(entries(1, 2))
        await own.finish(1, "task-1", b"r1", 0)
        await own.finish(2, "task-2", b"r2", 0)
        await own.renumber(50)
        assert await own.head() == 52
        await own.renumber(51)  # it is there already
        assert await own.read(50, 10) == [link.Outgoing(51, b"r1"), link.Outgoing(52, b"r2")]

    play(tmp_path, script)


def test_whoever_waits_hears_of_a_result_and_never_misses_one(tmp_path: Path) -> None:
    async def script(own: NodeJournal, _: Database) -> None:
        waiting = asyncio.create_task(own.wait(0))
        await own.apply(entries(1, 1))
        assert not waiting.done()
        await own.finish(1, "task-1", b"r1", 0)
        await asyncio.wait_for(waiting, 1)
        await asyncio.wait_for(own.wait(0), 1)

    play(tmp_path, script)


def test_nodes_of_one_journal_do_not_see_each_other(tmp_path: Path) -> None:
    async def script(own: NodeJournal, kept: Database) -> None:
        other = await journal.of_node(kept, "node_b")
        await own.apply(entries(1, 2))
        await own.finish(1, "task-1", b"r1", 0)
        assert (await other.cursor(), await other.pending(0, 9), list(await other.read(0, 9))) == (
            0,
            [],
            [],
        )
        assert not await other.repeat(1, "task-1")

    play(tmp_path, script)


def test_operations_that_wait_together_fail_alone(tmp_path: Path) -> None:
    def fail(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO outbox VALUES ('node_a', 1, x'00')")
        raise ValueError("mine alone")

    async def script(own: NodeJournal, kept: Database) -> None:
        applied, failed = await asyncio.gather(
            own.apply(entries(1, 1)), kept.run(fail), return_exceptions=True
        )
        assert (applied, isinstance(failed, ValueError)) == (1, True)
        assert list(await own.read(0, 10)) == []

    play(tmp_path, script)


def test_a_file_that_is_no_journal_is_named(tmp_path: Path) -> None:
    async def run() -> None:
        with database.opened(tmp_path / "journal.db", journal.SCHEMA):
            pass

    (tmp_path / "journal.db").write_bytes(b"not a database" * 100)
    with pytest.raises(DatabaseUnusable, match=r"journal\.db"):
        asyncio.run(run())


def test_a_journal_of_a_newer_agent_is_left_alone(tmp_path: Path) -> None:
    async def nothing(_own: NodeJournal, _kept: Database) -> None: ...

    play(tmp_path, nothing)
    with sqlite3.connect(tmp_path / "journal.db") as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(DatabaseUnusable, match="newer"):
        play(tmp_path, nothing)


def test_old_results_go_while_the_agent_runs(tmp_path: Path) -> None:
    day_us = 24 * 3600 * 1_000_000

    async def script(own: NodeJournal, kept: Database) -> None:
        await own.apply(entries(1, 3))
        for seq, day in ((1, 1), (2, 20), (3, 40)):
            await own.finish(seq, f"task-{seq}", b"r", day * day_us)
        sql = "SELECT task_id FROM results ORDER BY 1"
        left = await kept.run(lambda db: db.execute(sql).fetchall())
        assert left == [("task-2",), ("task-3",)]

    play(tmp_path, script)
