"""A foreign key is checked behind the wall, and tells nothing of what is there."""

import secrets

import asyncpg
import pytest

from . import raw_sql
from .plane import Json
from .raw_sql import Reference, Table
from .wall_stage import Wall, insert, intruder, rows_of, seen, session

pytestmark = pytest.mark.anyio


async def test_a_reference_does_not_tell_another_tenants_row_from_none(wall: Wall) -> None:
    async with session(wall.url) as superuser:
        references = await raw_sql.references(superuser, wall.tables)
        mine = {r.table: await rows_of(superuser, r.table, wall.mine) for r in references}
        theirs = {r.name: await unlike(superuser, wall, r) for r in references}
    assert len(references) >= 12
    tied = {r.table: {c for o in references if o.table == r.table for c in o.columns}
            for r in references}  # fmt: skip
    async with intruder(wall) as app:
        for reference in references:
            (table,) = [table for table in wall.tables if table.name == reference.table]
            answers: set[str] = set()
            for row in mine[reference.table]:
                fresh = {c: new(row[c]) for c in table.unique}
                base = {**row, **{c: fresh[c] for c in fresh.keys() - tied[table.name]}}
                there = await probe(app, table, reference, base, theirs[reference.name])
                absent = await probe(app, table, reference, base, {})
                assert there == absent, reference.name
                answers.add(there)
            assert reference.name in answers, f"{reference.name} was never asked"


async def unlike(superuser: asyncpg.Connection, wall: Wall, reference: Reference) -> Json:
    """A row of the other tenant's that none of one's own is called like."""
    named = [column for column in reference.targets if column != "tenant_id"]
    mine = await rows_of(superuser, reference.target, wall.mine)
    taken = [[row[column] for column in named] for row in mine]
    theirs = await rows_of(superuser, reference.target, wall.theirs)
    return next(row for row in theirs if [row[column] for column in named] not in taken)


async def probe(
    app: asyncpg.Connection, table: Table, reference: Reference, row: Json, other: Json
) -> str:
    """Let a new row refer to the other one, or to none: the name of what refused it."""
    aims = {
        column: other.get(target, "absent")
        for column, target in zip(reference.columns, reference.targets, strict=True)
    }
    try:
        await seen(app, *insert(table, {**row, **aims, "tenant_id": row["tenant_id"]}))
    except asyncpg.IntegrityConstraintViolationError as refusal:
        return str(refusal.constraint_name)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType] set from the answer
    raise AssertionError(f"{reference.name} let a row refer to {aims}")


def new(value: object) -> object:
    """Of the same kind, and in no row."""
    if not isinstance(value, str):
        return value
    return ("\\x" if value.startswith("\\x") else "") + secrets.token_hex(16)
