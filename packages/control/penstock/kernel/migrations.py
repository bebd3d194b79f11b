"""Numbered SQL files, applied once each, in order, under a lock, never changed afterwards."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import asyncpg

from penstock.kernel import log, roles, sessions, watchdog
from penstock.kernel.settings import SettingsInvalid

FOLDER: Final = Path(__file__).parent.parent / "schema"
LOCK: Final = 0x50454E53  # "PENS"
logger = log.get(__name__)


class MigrationRefused(Exception):
    """The database and the files do not agree; nothing was changed."""


@dataclass(frozen=True)
class Migration:
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


def read(plane: str, folder: Path = FOLDER) -> list[Migration]:
    """The kernel's files first, then the plane's."""
    return [
        Migration(f"{part}/{path.name}", path.read_text())
        for part in ("kernel", plane)
        for path in sorted((folder / part).glob("[0-9]*.sql"))
    ]


async def migrate(url: str, plane: str, migrations: list[Migration] | None = None) -> list[str]:
    """Bring the database up to date as its owner; the names of what was applied."""
    wanted = read(plane) if migrations is None else migrations
    settings = {"application_name": "penstock migrations", "client_min_messages": "warning"}
    connection = await sessions.connect(url, server_settings=settings)
    try:
        async with watchdog.watching(url, connection), connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
            await connection.execute(_LEDGER)
            pending = await _pending(connection, wanted)
            await roles.ensure(connection, plane)
            for migration in pending:
                sql = migration.sql.replace("{app}", roles.app(plane))
                await connection.execute(sql.replace("{system}", roles.system(plane)))
                await connection.execute(
                    "INSERT INTO schema_migrations (name, checksum) VALUES ($1, $2)",
                    migration.name,
                    migration.checksum,
                )
    finally:
        connection.terminate()
    for migration in pending:
        logger.info("migrated", migration=migration.name)
    return [migration.name for migration in pending]


async def allow_rows(url: str, plane: str, role: str, schema: str) -> None:
    """As the owner, of a schema whose tables a library made: the plane's login may become a role
    that changes rows there, and no table."""
    connection = await sessions.connect(url, server_settings={"client_min_messages": "warning"})
    try:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
            await roles.allow(connection, plane, role)
            await roles.give_rows(connection, role, schema)
    finally:
        connection.terminate()


def owner(url: str | None, plane: str) -> str:
    """The owner's login, without which nothing can be migrated."""
    if url is None:
        raise SettingsInvalid(
            f"PENSTOCK_{plane.upper()}_OWNER_URL is not set, and only the owner of the database "
            "can migrate it"
        )
    return url


async def check(url: str, plane: str) -> None:
    """Refuses a login that may do more than serve, and a database that is not up to date."""
    settings = {"application_name": "penstock migrations"}
    connection = await sessions.connect(url, server_settings=settings)
    try:
        await roles.refuse_powerful(connection, plane)
        await connection.execute(f"SET ROLE {roles.system(plane)}")
        pending = [migration.name for migration in await _pending(connection, read(plane))]
    except (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidParameterValueError) as error:
        pending = [f"what its login must be allowed ({error})"]
    except asyncpg.UndefinedTableError:
        pending = ["every table"]
    finally:
        connection.terminate()
    if pending:
        raise MigrationRefused(
            f"the database lacks {pending[0]}, so this version cannot serve it: run "
            f"`penstock {plane} --migrate` with the owner's login in "
            f"PENSTOCK_{plane.upper()}_OWNER_URL, or set that here, too"
        )


async def _pending(connection: asyncpg.Connection, wanted: list[Migration]) -> list[Migration]:
    rows = await connection.fetch("SELECT name, checksum FROM schema_migrations")
    applied: dict[str, str] = {row["name"]: row["checksum"] for row in rows}
    for migration in wanted:
        if applied.get(migration.name, migration.checksum) != migration.checksum:
            raise MigrationRefused(
                f"{migration.name} was changed after it was applied; "
                "restore the file and put the change into a new one"
            )
    unknown = sorted(applied.keys() - {migration.name for migration in wanted})
    if unknown:
        raise MigrationRefused(
            f"the database has {unknown[-1]}, which this version does not know; "
            "it was migrated by a newer version, which must be used"
        )
    return [migration for migration in wanted if migration.name not in applied]


_LEDGER = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    name       text PRIMARY KEY,
    checksum   text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
"""
