"""The workflow engine's own sessions: they wait for a primary, and never for an answer too long."""

import threading
from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest

from penstock.site import engine_sessions
from penstock.site.engine_sessions import Session, Stopped, Unanswered

from .servers import Pair

SOON_S: Final = 60.0


@pytest.fixture(autouse=True)
def launched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Of an engine that runs."""
    monkeypatch.setattr(engine_sessions, "ANSWER_S_MAX", 1.0)
    monkeypatch.setattr(engine_sessions, "HEARTBEAT_S", 0.2)
    engine_sessions.begin()
    engine_sessions.waits.set()
    yield
    engine_sessions.begin()


def connect(pair: Pair) -> Session:
    options: dict[str, Any] = dict(engine_sessions.OPTIONS)
    session = engine_sessions.connect(None, None, [pair.url("site")], options)
    session.autocommit = True
    return session


def in_thread(pair: Pair) -> tuple[threading.Thread, list[object]]:
    came: list[object] = []

    def run() -> None:
        try:
            came.append(connect(pair))
        except Stopped as stopped:
            came.append(stopped)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, came


def test_a_new_session_waits_for_a_primary(pair: Pair) -> None:
    pair.lead_to_standby()
    dialled = pair.proxy.dialled
    thread, came = in_thread(pair)
    while pair.proxy.dialled < dialled + 2:
        thread.join(0.05)
        assert not came
    pair.lead_to_primary()
    thread.join(SOON_S)
    (session,) = came
    assert isinstance(session, Session)
    session.execute("CREATE TEMPORARY TABLE written ()")


def test_at_the_start_a_standby_is_a_failure(pair: Pair) -> None:
    engine_sessions.begin()
    pair.lead_to_standby()
    with pytest.raises(psycopg.OperationalError, match="read-only"):
        connect(pair)


def test_a_statement_without_an_answer_ends_its_session(pair: Pair) -> None:
    session = connect(pair)
    pair.proxy.swallow()
    with pytest.raises(Unanswered):
        session.execute("SELECT 1")
    assert session.closed


def test_who_listens_notices_that_nobody_is_there(pair: Pair) -> None:
    session = connect(pair)
    session.execute("LISTEN bell")
    heard = session.notifies()
    session.execute("NOTIFY bell, 'one'")
    assert next(heard).payload == "one"
    pair.proxy.swallow()
    with pytest.raises(Unanswered):
        next(heard)


def test_nobody_waits_for_the_database_when_the_site_stops(pair: Pair) -> None:
    session = connect(pair)
    pair.proxy.swallow()
    thread, came = in_thread(pair)
    engine_sessions.stopping.set()
    with pytest.raises(Stopped):
        session.execute("SELECT 1")
    thread.join(SOON_S)
    assert [type(each) for each in came] == [Stopped]
