"""A receiver that writes down what it was given: one row for each entry, in order."""

import asyncpg
from logins import owner_url, superuser_url

from penstock.kernel import feed
from penstock.kernel.db import Database, Tx
from penstock.kernel.feed import Inbox

FEED = "diary"


async def prepare(url: str, plane: str = "site") -> None:
    await as_owner(
        url,
        f"""
        CREATE TABLE diary (place bigserial PRIMARY KEY, body text NOT NULL);
        GRANT SELECT, INSERT ON diary TO penstock_{plane}_system;
        GRANT USAGE ON SEQUENCE diary_place_seq TO penstock_{plane}_system;
        """,
    )


async def as_owner(url: str, sql: str) -> None:
    connection = await asyncpg.connect(owner_url(url))
    await connection.execute(sql)
    await connection.close()


async def above_the_walls(url: str, sql: str) -> None:
    """As somebody who may delete anything, past every trigger."""
    connection = await asyncpg.connect(superuser_url(url))
    await connection.execute(f"SET session_replication_role = replica; {sql}")
    await connection.close()


async def write(tx: Tx, body: bytes) -> None:
    if body.startswith(b"bad"):
        raise feed.Rejected("it is bad")
    await tx.execute("INSERT INTO diary (body) VALUES ($1)", body.decode())


def inbox(database: Database, source: str = FEED) -> Inbox:
    return Inbox(database, source, write)


async def read(database: Database) -> list[str]:
    async with database.transaction() as tx:
        return [row["body"] for row in await tx.fetch("SELECT body FROM diary ORDER BY place")]


async def append(database: Database, *bodies: str, key: str | None = None) -> None:
    async with database.transaction() as tx:
        for body in bodies:
            feed.append(tx, FEED, body.encode(), key=key)


async def waiting(database: Database) -> int:
    """Entries that are not acknowledged."""
    async with database.transaction() as tx:
        count: int = await tx.fetchval("SELECT count(*) FROM feed_entries WHERE feed = $1", FEED)
    return count
