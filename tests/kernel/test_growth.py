"""What a key finds is read by its index, also by who made a plan while there was little to read."""

from collections.abc import AsyncGenerator

import asyncpg
import pytest
from logins import owner_url

from penstock.kernel import db, feed
from penstock.kernel.actor import Actor
from penstock.kernel.db import Database, Tx
from penstock.kernel.http import idempotency
from penstock.kernel.http.idempotency import Given
from penstock.kernel.outgoing import flush
from penstock.kernel.questions import ask

pytestmark = pytest.mark.anyio

ACTOR = Actor("key", "key_1", "platform_admin")
PLANNED = 8  # after five runs a session keeps its plan
MANY = 2000
LOCK = 7  # under a lock, indexes are used
READ = """
    SELECT coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0)
    FROM pg_stat_xact_user_tables WHERE relname = $1
"""


@pytest.fixture
async def session(central_url: str) -> AsyncGenerator[Database, None]:
    """One connection: what was planned on it stays planned. The tables are known to be empty."""
    owner = await asyncpg.connect(owner_url(central_url))
    await owner.execute("VACUUM (ANALYZE) feed_entries, idempotency_keys")
    await owner.close()
    database = await db.connect(central_url, "central", size=1)
    yield database
    await database.close()


async def append(tx: Tx, count: int, name: str) -> None:
    for number in range(count):
        feed.append(tx, "orders", b"body", key=f"{name}{number}")
    await flush(tx.connection, tx.outgoing, tx.now)
    tx.outgoing.entries.clear()


async def test_a_new_document_reads_none_of_the_others(session: Database) -> None:
    for number in range(PLANNED):
        async with session.locked(LOCK) as tx:
            await append(tx, 4, f"few{number}:")
    async with session.locked(LOCK) as tx:
        await append(tx, MANY, "many")
    async with session.locked(LOCK) as tx:
        before = await tx.fetchval(READ, "feed_entries")
        await append(tx, 4, "many")
        assert await tx.fetchval(READ, "feed_entries") - before <= 10
        assert await tx.fetchval("SELECT count(*) FROM feed_entries") == 4 * PLANNED + MANY


async def test_a_key_is_found_without_reading_the_others(session: Database) -> None:
    for number in range(PLANNED):
        async with session.locked(LOCK) as tx:
            await ask(tx, idempotency.answers([(ACTOR.name, f"few{number}")]))
    async with session.locked(LOCK) as tx:
        given = [Given(ACTOR, f"many{n}", b"request", 201, b"body") for n in range(MANY)]
        await idempotency.record_answers(tx, given)
    async with session.locked(LOCK) as tx:
        before = await tx.fetchval(READ, "idempotency_keys")
        found = await ask(tx, idempotency.answers([(ACTOR.name, "many7"), (ACTOR.name, "none")]))
        assert list(found) == [(ACTOR.name, "many7")]
        assert await tx.fetchval(READ, "idempotency_keys") - before <= 2
