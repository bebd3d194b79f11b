"""Transactions, what they append, wakeups, and the audit chain."""

import asyncio

import asyncpg
import pytest
from logins import superuser_url

from penstock.kernel import audit, events, feed, wakeups
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Database, Tx
from penstock.kernel.wakeups import Wakeups
from penstock_contracts.ids import TenantId

pytestmark = pytest.mark.anyio

LOGS = ("audit_entries", "events", "feed_entries", "feed_heads")


async def counts(database: Database) -> list[int]:
    async with database.transaction() as tx:
        return [await tx.fetchval(f"SELECT count(*) FROM {table}") for table in LOGS]


def append_all(tx: Tx) -> None:
    audit.record(tx, SYSTEM, "thing.change", "thing_1", reason="why")
    events.emit(tx, "thing.changed", "thing_1", colour="red")
    feed.append(tx, "things", b"body")
    wakeups.notify(tx, "bell")


async def test_a_transaction_that_fails_writes_nothing_of_what_it_collected(
    upper: Database, wakeups: Wakeups
) -> None:

    async def fails() -> None:
        async with upper.transaction() as tx:
            append_all(tx)
            raise ZeroDivisionError

    with wakeups.subscribe("bell") as bell:
        with pytest.raises(ZeroDivisionError):
            await fails()
        assert await counts(upper) == [0, 0, 0, 0]
        async with upper.transaction() as tx:
            append_all(tx)
        await asyncio.wait_for(bell.wait(), 5)
    assert await counts(upper) == [1, 1, 1, 2]


async def test_a_wakeup_between_two_waits_is_not_lost(upper: Database, wakeups: Wakeups) -> None:
    with wakeups.subscribe("things") as told:
        for _ in range(3):
            async with upper.transaction() as tx:
                append_all(tx)
            await asyncio.wait_for(told.wait(), 5)


async def test_waiters_are_told_after_their_connection_was_lost(
    upper: Database, wakeups: Wakeups, central_url: str
) -> None:
    """What was notified while nobody listened is made up for by telling everyone."""
    other = await asyncpg.connect(central_url)
    with wakeups.subscribe("things") as told:
        await other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'penstock wakeups' AND datname = current_database()"
        )
        async with upper.transaction() as tx:
            append_all(tx)
        await asyncio.wait_for(told.wait(), 5)
        await asyncio.wait_for(wakeups.listening.wait(), 5)
        async with upper.transaction() as tx:
            append_all(tx)
        await asyncio.wait_for(told.wait(), 5)
    await other.close()


async def test_idempotent_work_is_run_again_after_its_connection_was_lost(
    upper: Database, central_url: str
) -> None:
    other = await asyncpg.connect(central_url)
    attempts = 0

    async def work(tx: Tx) -> int:
        nonlocal attempts
        attempts += 1
        append_all(tx)
        if attempts == 1:
            pid: int = await tx.fetchval("SELECT pg_backend_pid()")
            await other.execute("SELECT pg_terminate_backend($1, 5000)", pid)
            await tx.fetchval("SELECT 1")
        return attempts

    assert await upper.run(work) == 2
    assert await counts(upper) == [1, 1, 1, 2], "the first attempt left nothing"
    await other.close()


async def chain(upper: Database, length: int = 6) -> None:
    for number in range(length):
        async with upper.transaction(correlation_id=f"c{number}") as tx:
            tenant = TenantId("tenant_1") if number % 2 else None
            audit.record(tx, SYSTEM, "a", f"s{number}", tenant_id=tenant, n=number, price=1.50)


async def broken_at(upper: Database) -> int | None:
    async with upper.transaction() as tx:
        return await audit.broken_at(tx)


TAMPERINGS = {
    "flip an actor": ("UPDATE audit_entries SET actor = 'mallory' WHERE seq = 3", 3),
    "flip a detail": ("UPDATE audit_entries SET detail = '{\"n\": 9}' WHERE seq = 3", 3),
    "flip a tenant": ("UPDATE audit_entries SET tenant_id = 'tenant_2' WHERE seq = 4", 4),
    "lose a tenant": ("UPDATE audit_entries SET tenant_id = NULL WHERE seq = 4", 4),
    "flip a time": ("UPDATE audit_entries SET at = at + interval '1 us' WHERE seq = 3", 3),
    "flip a reason": ("UPDATE audit_entries SET reason = 'good' WHERE seq = 3", 3),
    "flip a correlation": ("UPDATE audit_entries SET correlation_id = 'x' WHERE seq = 3", 3),
    "flip a hash": ("UPDATE audit_entries SET hash = '\\x01' WHERE seq = 3", 3),
    "delete the first": ("DELETE FROM audit_entries WHERE seq = 1", 2),
    "delete one": ("DELETE FROM audit_entries WHERE seq = 3", 4),
    "delete the last": ("DELETE FROM audit_entries WHERE seq = 6", 6),
    "cut off the end": ("DELETE FROM audit_entries WHERE seq > 2", 6),
    "truncate": ("TRUNCATE audit_entries", 6),
    "reorder": (
        (
            "UPDATE audit_entries SET seq = seq + 100 WHERE seq IN (3, 4); "
            "UPDATE audit_entries SET seq = 107 - seq WHERE seq > 100"
        ),
        3,
    ),
    "renumber after a deletion": (
        (
            "DELETE FROM audit_entries WHERE seq = 3; "
            "UPDATE audit_entries SET seq = seq - 1 WHERE seq > 3; UPDATE audit_head SET seq = 5"
        ),
        3,
    ),
    "cut off the end and move the head": (
        "DELETE FROM audit_entries WHERE seq > 4; UPDATE audit_head SET seq = 4",
        4,
    ),
    "append one that is hashed well": (
        (
            "INSERT INTO audit_entries SELECT 7, tenant_id, actor, action, subject, detail, "
            "reason, correlation_id, at, audit_hash(hash, 7, tenant_id, actor, action, subject, "
            "detail, reason, correlation_id, at) FROM audit_entries WHERE seq = 6"
        ),
        6,
    ),
    "insert one": (
        (
            "INSERT INTO audit_entries SELECT 7, tenant_id, actor, action, subject, detail, "
            "reason, correlation_id, at, hash FROM audit_entries WHERE seq = 6"
        ),
        6,
    ),
}


@pytest.mark.parametrize("name", TAMPERINGS)
async def test_tampering_with_the_audit_log_is_found(
    upper: Database, central_url: str, name: str
) -> None:
    sql, first = TAMPERINGS[name]
    await chain(upper)
    assert await broken_at(upper) is None
    superuser = await asyncpg.connect(superuser_url(central_url))
    await superuser.execute(sql)
    await superuser.close()
    found = await broken_at(upper)
    assert found is not None
    assert found in (first, first + 1)


async def test_the_systems_own_role_cannot_rewrite_the_audit_log(upper: Database) -> None:
    await chain(upper, 2)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with upper.transaction() as tx:
            await tx.execute("UPDATE audit_entries SET actor = 'x'")
    async with upper.transaction() as tx:  # only what is before the start of the log may go
        assert await tx.execute("DELETE FROM audit_entries") == 0
