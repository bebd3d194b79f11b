"""Migrations: applied once, in order, all or nothing, and never changed afterwards."""

import asyncio
from collections.abc import Iterator

import asyncpg
import pytest

from penstock.kernel import migrations
from penstock.kernel.migrations import Migration, MigrationRefused
from penstock.local.postgres import EmbeddedPostgres

pytestmark = pytest.mark.anyio

FIRST = Migration("kernel/0001_a.sql", "CREATE TABLE a (n int)")
SECOND = Migration("central/0002_b.sql", "CREATE TABLE b (n int); INSERT INTO a VALUES (1)")


@pytest.fixture
def empty(server: EmbeddedPostgres) -> Iterator[str]:
    """A database with nothing in it."""
    yield server.create_database("empty")
    server.drop_database("empty")


async def tables(url: str) -> set[str]:
    connection = await asyncpg.connect(url)
    rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    await connection.close()
    return {row["tablename"] for row in rows}


async def test_each_is_applied_once_and_in_order(empty: str) -> None:
    assert await migrations.migrate(empty, "central", [FIRST]) == [FIRST.name]
    assert await migrations.migrate(empty, "central", [FIRST, SECOND]) == [SECOND.name]
    assert await migrations.migrate(empty, "central", [FIRST, SECOND]) == []


async def test_a_changed_file_is_refused_and_nothing_is_applied(empty: str) -> None:
    await migrations.migrate(empty, "central", [FIRST])
    changed = Migration(FIRST.name, FIRST.sql + " -- a comment")
    with pytest.raises(MigrationRefused, match=r"0001_a\.sql was changed after it was applied"):
        await migrations.migrate(empty, "central", [changed, SECOND])
    assert await tables(empty) == {"a", "schema_migrations"}


async def test_a_database_of_a_newer_version_is_refused(empty: str) -> None:
    await migrations.migrate(empty, "central", [FIRST, SECOND])
    with pytest.raises(MigrationRefused, match=r"0002_b\.sql, which this version does not know"):
        await migrations.migrate(empty, "central", [FIRST])


async def test_many_processes_at_once_migrate_once(empty: str) -> None:
    applied = await asyncio.gather(
        *(migrations.migrate(empty, "central", [FIRST, SECOND]) for _ in range(6))
    )
    assert sorted(applied) == [[]] * 5 + [[FIRST.name, SECOND.name]]
    connection = await asyncpg.connect(empty)
    assert await connection.fetchval("SELECT count(*) FROM a") == 1
    await connection.close()


async def test_a_file_that_fails_leaves_nothing_of_any(empty: str) -> None:
    broken = Migration("central/0003_c.sql", "CREATE TABLE c (n int); SELECT 1 / 0")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrations.migrate(empty, "central", [FIRST, SECOND, broken])
    assert await tables(empty) == set()
    assert len(await migrations.migrate(empty, "central", [FIRST, SECOND])) == 2


async def test_both_planes_have_migrations_with_unique_numbers() -> None:
    for plane in ("central", "site"):
        names = [migration.name for migration in migrations.read(plane)]
        numbers = [name.partition("_")[0] for name in names]
        assert len(numbers) == len(set(numbers)) > 1
        assert names[0].startswith("kernel/")
