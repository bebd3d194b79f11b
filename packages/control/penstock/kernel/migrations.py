"""Numbered SQL files, applied once each, in order, under a lock, never changed afterwards."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import asyncpg

from penstock.kernel import log, sessions, watchdog

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
            for role in (f"penstock_{plane}_app", f"penstock_{plane}_system"):
                await connection.execute(_ROLE.replace("{role}", role))
            for migration in pending:
                sql = migration.sql.replace("{app}", f"penstock_{plane}_app")
                await connection.execute(sql.replace("{system}", f"penstock_{plane}_system"))
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

# Roles belong to the whole server, so another database may be creating them right now.
_ROLE = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN
        BEGIN
            CREATE ROLE {role} NOLOGIN NOINHERIT;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
        END;
    END IF;
    BEGIN
        GRANT {role} TO CURRENT_USER;
    EXCEPTION WHEN unique_violation THEN NULL;
    END;
END $$
"""
