"""R17: whoever has raw SQL as the app role stays behind the wall, in every table.

What the wall does not promise: the tenant of a transaction is a setting, and whoever can run any
SQL can set it. So the wall stands behind queries that are ours, and forgot or were led astray; it
is not a cell for code that is not ours. Nor does it hide how large a table is (EXPLAIN tells).
"""

import io

import asyncpg
import pytest

from . import raw_sql
from .plane import Json
from .raw_sql import Table
from .wall_stage import Wall, insert, intruder, row_of, seen, session

pytestmark = pytest.mark.anyio
Refused = asyncpg.InsufficientPrivilegeError


async def test_every_way_to_read_shows_ones_own_rows(wall: Wall) -> None:
    assert len(wall.tables) >= 20
    async with intruder(wall) as app:
        for table in wall.tables:
            for name, sql in raw_sql.READS.items():
                found = await seen(app, wall.fill(sql, table))
                assert found <= {wall.mine}, f"{table.name}, {name}"
            assert await seen(app, wall.fill(raw_sql.READS["plainly"], table)) == {wall.mine}


async def test_a_copy_and_a_cursor_hold_ones_own_rows(wall: Wall) -> None:
    async with intruder(wall) as app:
        for table in wall.tables:
            copied = io.BytesIO()
            whose = "tenant_id" if "tenant_id" in table.columns else "id"
            await app.copy_from_table(table.name, columns=[whose], output=copied)
            assert set(copied.getvalue().decode().split()) == {wall.mine}, table.name
            cursor = await app.cursor(f"SELECT tenant_id FROM {table.name}")
            assert {row[0] for row in await cursor.fetch(1000)} == {wall.mine}, table.name


async def test_a_function_in_a_query_is_not_shown_what_the_wall_hides(wall: Wall) -> None:
    """However cheap it claims to be: the wall's own condition comes first."""
    told: list[str] = []
    async with intruder(wall) as app:
        app.add_log_listener(lambda _, message: told.append(str(message).split()[-1]))
        await app.execute(
            "CREATE FUNCTION pg_temp.tell(it text) RETURNS boolean LANGUAGE plpgsql COST 1e-9 "
            "AS $$ BEGIN RAISE NOTICE '%', it; RETURN true; END $$"
        )
        for table in wall.tables:
            await app.fetch(f"SELECT FROM {table.name} WHERE pg_temp.tell(tenant_id)")
    assert set(told) == {wall.mine}


async def test_statistics_of_what_is_walled_off_are_hidden(wall: Wall) -> None:
    sql = "SELECT count(*) FROM pg_stats WHERE tablename = ANY ($1)"
    names = [table.name for table in wall.tables]
    async with session(wall.url) as superuser:
        assert await superuser.fetchval(sql, names) > 0
    async with intruder(wall) as app:
        assert await app.fetchval(sql, names) == 0


async def test_no_change_reaches_another_tenants_row(wall: Wall) -> None:
    async with intruder(wall) as app:
        for table in wall.tables:
            for name, sql in raw_sql.UPDATES.items():
                await try_change(wall, app, table, f"update {name}", sql, bool(table.updated))
            for name, sql in raw_sql.DELETES.items():
                await try_change(wall, app, table, f"delete {name}", sql, table.deletes)
            for name, sql in raw_sql.MERGES.items():
                may = bool(table.updated) if name == "change" else table.deletes
                await try_change(wall, app, table, f"merge {name}", sql, may)
            with pytest.raises((Refused, asyncpg.GeneratedAlwaysError)):
                await seen(app, f"UPDATE {table.name} SET tenant_id = '{wall.theirs}'")


async def try_change(
    wall: Wall, app: asyncpg.Connection, table: Table, name: str, sql: str, may: bool
) -> None:
    """Without a grant it is refused; with one it sees and touches one's own rows."""
    filled = wall.fill(sql, table)
    if not may:
        with pytest.raises(Refused):
            await seen(app, filled)
        return
    try:
        found = await seen(app, filled)
    except asyncpg.IntegrityConstraintViolationError:
        return  # one's own row is in use: nothing was changed
    assert found <= {wall.mine}, f"{table.name}, {name}"


async def test_a_row_cannot_be_written_for_or_over_another_tenant(wall: Wall) -> None:
    async with session(wall.url) as superuser:
        rows = {table.name: await row_of(superuser, table.name, wall.theirs)
                for table in wall.tables}  # fmt: skip
    async with intruder(wall) as app:
        for table in wall.tables:
            theirs = rows[table.name]
            for ending in ("", "RETURNING tenant_id"):
                with pytest.raises(Refused, match="row-level" if table.inserted else "permission"):
                    await seen(app, *insert(table, theirs, ending))
            if not table.inserted:
                continue
            with pytest.raises(asyncpg.FeatureNotSupportedError, match="row-level"):
                async with app.transaction():
                    await app.copy_records_to_table(table.name, records=[], columns=["tenant_id"])
            for row in (theirs, {**theirs, "tenant_id": wall.mine}):
                for conflict in conflicts(table):
                    found = await upsert(app, table, row, conflict)
                    assert found <= {wall.mine}, f"{table.name}: {conflict}"


def conflicts(table: Table) -> list[str]:
    """What to do about a row that is there."""
    changes = [f"{column} = excluded.{column}" for column in table.updated]
    over = [f"ON CONFLICT ({', '.join(table.key)}) DO UPDATE SET {', '.join(changes)}"]
    return ["", "ON CONFLICT DO NOTHING", *(over if changes else [])]


async def upsert(app: asyncpg.Connection, table: Table, row: Json, conflict: str) -> set[str]:
    try:
        return await seen(app, *insert(table, row, f"{conflict} RETURNING tenant_id"))
    except (Refused, asyncpg.IntegrityConstraintViolationError):
        return set()
