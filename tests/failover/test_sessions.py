"""What needs the database outlives a standby in its place, and a network that swallows."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import asyncpg
import pytest

from penstock.kernel import db, leadership, loops, sessions
from penstock.kernel import wakeups as bells
from penstock.kernel.db import Database, Tx
from penstock.kernel.loops import Loop
from penstock.kernel.sessions import StandbyAnswered
from penstock.kernel.wakeups import Wakeup, Wakeups

from .servers import Pair

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("hasty")]
SOON_S = 60.0  # a bound for a slow machine; it takes a few
LOCK = 0x4641494C


@asynccontextmanager
async def under_way(work: Awaitable[object]) -> AsyncGenerator["asyncio.Future[object]", None]:
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def database(pair: Pair) -> AsyncGenerator[Database, None]:
    made = await db.connect(pair.url("central"), "central", size=3)
    yield made
    await made.close()


async def until(happens: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON_S):
        while True:  # nothing tells
            if happens():
                return
            await asyncio.sleep(0.02)


async def dialled_again(pair: Pair, times: int = 4) -> None:
    """Somebody, whoever it is, has tried several times by now."""
    until_then = pair.proxy.dialled + times
    await until(lambda: pair.proxy.dialled >= until_then)


async def rings(database: Database, bell: Wakeup) -> None:
    async def ring(tx: Tx) -> None:
        bells.notify(tx, "bell")

    async with asyncio.timeout(SOON_S):
        await database.run(ring)
        await bell.wait()


async def test_a_standby_is_refused_by_its_name(pair: Pair) -> None:
    pair.lead_to_standby()
    with pytest.raises(StandbyAnswered, match="a standby or read-only"):
        await sessions.connect(pair.url("central"))


async def test_wakeups_outlive_a_standby(pair: Pair, database: Database) -> None:
    wakeups = Wakeups(pair.url("central"))
    with wakeups.subscribe("bell") as bell:
        async with under_way(wakeups.listen()) as listening:
            await wakeups.listening.wait()
            pair.lead_to_standby()
            await dialled_again(pair)
            assert not listening.done(), listening.exception()
            assert not wakeups.listening.is_set()
            pair.lead_to_primary()
            await asyncio.wait_for(wakeups.listening.wait(), SOON_S)
            await bell.wait()  # all are told
            await rings(database, bell)


async def test_work_is_run_again_once_a_primary_answers(pair: Pair, database: Database) -> None:
    pair.lead_to_standby()
    async with under_way(database.run(writes)) as working:
        await dialled_again(pair)
        assert not working.done(), working.exception()
        pair.lead_to_primary()
        assert await asyncio.wait_for(working, SOON_S) == 1


async def test_a_session_that_became_read_only_is_not_used_again(
    pair: Pair, database: Database
) -> None:
    """A primary can be fenced without a restart."""

    async def fence(tx: Tx) -> None:
        await tx.execute("SET SESSION default_transaction_read_only = on")

    await database.run(fence)
    assert await asyncio.wait_for(database.run(writes), SOON_S) == 1


async def writes(tx: Tx) -> int:
    return await tx.execute("UPDATE audit_head SET seq = seq")


async def test_nobody_leads_at_a_standby(pair: Pair) -> None:
    leads, stopped = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        leads.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    url = pair.url("central")
    async with under_way(leadership.lead(url, LOCK, "test", work)) as leading:
        await asyncio.wait_for(leads.wait(), SOON_S)
        pair.lead_to_standby()
        await asyncio.wait_for(stopped.wait(), SOON_S)
        leads.clear()
        await dialled_again(pair)
        assert not leads.is_set(), "a standby has locks, too"
        assert not leading.done(), leading.exception()
        pair.lead_to_primary()
        await asyncio.wait_for(leads.wait(), SOON_S)


async def test_a_steady_loop_goes_on_after_any_fault_of_the_database() -> None:
    attempts: list[int] = []

    async def work() -> None:
        attempts.append(1)
        if len(attempts) == 1:
            raise asyncpg.InternalServerError("XX000")
        if len(attempts) == 2:
            raise ExceptionGroup("two of it", [asyncpg.DiskFullError("no room"), OSError("gone")])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await loops.keep(Loop("test", "Fails.", loops.steady(work)))
    assert len(attempts) == 3, "a bug is no fault of the database"


async def test_a_transaction_that_was_swallowed_ends_and_is_run_again(
    pair: Pair, database: Database
) -> None:
    begun = asyncio.Event()
    attempts: list[int] = []

    async def work(tx: Tx) -> int:
        attempts.append(1)
        begun.set()
        if len(attempts) == 1:
            await asyncio.to_thread(pair.proxy.swallow)
        return await writes(tx)

    async with under_way(database.run(work)) as working:
        await begun.wait()
        await dialled_again(pair, 1)  # the watchdog asks
        pair.proxy.pass_on()
        assert await asyncio.wait_for(working, SOON_S) == 1
    assert len(attempts) > 1


async def test_a_connection_alone_is_noticed_while_new_ones_work(
    pair: Pair, database: Database
) -> None:
    """A balancer forgot it, say. The server is there, and has nothing to do for it."""
    attempts: list[int] = []

    async def work(tx: Tx) -> int:
        attempts.append(1)
        if len(attempts) == 1:
            pair.proxy.pass_on()  # of those that are there, nothing passes any more
        return await writes(tx)

    assert await asyncio.wait_for(database.run(work), SOON_S) == 1
    assert len(attempts) == 2


async def test_a_slow_statement_is_not_taken_for_a_dead_server(database: Database) -> None:
    """The watchdog looks at it more than once."""
    attempts: list[int] = []

    async def work(tx: Tx) -> int:
        attempts.append(1)
        await tx.fetchval("SELECT pg_sleep(4)")
        return len(attempts)

    assert await database.run(work) == 1


async def test_wakeups_notice_that_they_were_swallowed(pair: Pair, database: Database) -> None:
    wakeups = Wakeups(pair.url("central"))
    with wakeups.subscribe("bell") as bell:
        async with under_way(wakeups.listen()):
            await wakeups.listening.wait()
            pair.proxy.pass_on()  # of those that are there, nothing passes any more
            await until(lambda: not wakeups.listening.is_set())
            await asyncio.wait_for(wakeups.listening.wait(), SOON_S)
            await bell.wait()
            await rings(database, bell)


async def test_a_leader_that_is_cut_off_stops_and_its_lock_is_free_again(pair: Pair) -> None:
    """Its session at the server is not told either: it ends because its heartbeat is missing."""
    cut_off, next_one = asyncio.Event(), asyncio.Event()
    leads = asyncio.Event()

    async def first() -> None:
        leads.set()
        try:
            await asyncio.Event().wait()
        finally:
            cut_off.set()

    async def second() -> None:
        next_one.set()
        await asyncio.Event().wait()

    through, direct = pair.url("central"), pair.primary.serving_url("central")
    async with under_way(leadership.lead(through, LOCK, "first", first)):
        await asyncio.wait_for(leads.wait(), SOON_S)
        pair.proxy.swallow()
        async with under_way(leadership.lead(direct, LOCK, "second", second)):
            await asyncio.wait_for(next_one.wait(), SOON_S)
            assert cut_off.is_set(), "never two at once"


async def test_who_is_told_to_stop_stops_although_its_session_is_dead(
    pair: Pair, database: Database
) -> None:
    """That the session is lost is not news enough to try again."""
    waits = asyncio.Event()

    async def work(tx: Tx) -> None:
        pair.proxy.swallow()
        asyncio.get_running_loop().call_later(0.2, waits.set)
        await writes(tx)

    working = asyncio.ensure_future(database.run(work))
    await waits.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(working, SOON_S)


async def test_a_host_that_is_gone_is_noticed_by_tcp(pair: Pair) -> None:
    session = await sessions.connect(pair.url("central"))
    peer = sessions.socket_of(session)
    assert peer.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    assert 0 < peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) <= 15_000
    assert 0 < peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) <= 15
    await session.close()
