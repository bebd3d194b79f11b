"""The workflow engine's sessions with the database: patient to begin, and never stuck.

The engine's threads wait for an answer as long as it takes, and after a failure to connect they
pause longer and longer. So here a new session waits for the database to be back, and a statement
without an answer ends its session.
"""

import threading
import time
from collections.abc import Generator
from typing import Any, Final

import psycopg
from psycopg import Notify
from psycopg.abc import PQGen
from psycopg.rows import TupleRow

from penstock.kernel import log
from penstock.kernel.sessions import CONNECT_S_MAX, DEAD_PEER_S, HEARTBEAT_S

ANSWER_S_MAX: Final = 10.0  # the engine's statements are all small
AGAIN_S: Final = 0.5
OPTIONS: Final[dict[str, object]] = {
    "application_name": "penstock workflows",
    "connect_timeout": int(CONNECT_S_MAX),
    "target_session_attrs": "read-write",
    "keepalives_idle": DEAD_PEER_S // 2,
    "keepalives_interval": DEAD_PEER_S // 4,
    "keepalives_count": 2,
    "tcp_user_timeout": DEAD_PEER_S * 1000,
}
waits = threading.Event()  # set: a new session waits for the database
stopping = threading.Event()
logger = log.get(__name__)


class Unanswered(psycopg.OperationalError):
    """The database did not answer a statement in time."""


class Stopped(ConnectionError):
    """The site stops; nothing is asked of the database any more. What was asked may have happened,
    as if the process had been killed: the engine can write down nothing else, either."""

    def __init__(self) -> None:
        super().__init__("the site stops; the database is not asked any more")


class Session(psycopg.Connection[TupleRow]):
    """A connection whose every answer comes in time, or never."""

    def wait(self, gen: PQGen[Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return super().wait(_in_time(gen), *args, **kwargs)
        except (Unanswered, Stopped):
            self.close()
            raise

    def notifies(
        self, *, timeout: float | None = None, stop_after: int | None = None
    ) -> Generator[Notify]:
        """With a heartbeat, for as long as it takes."""
        while timeout is None:
            self.execute("SELECT 1")
            yield from super().notifies(timeout=HEARTBEAT_S, stop_after=stop_after)
        yield from super().notifies(timeout=timeout, stop_after=stop_after)


def begin() -> None:
    """A new life of the engine, in which a failure to connect is told until `waits` is set."""
    waits.clear()
    stopping.clear()


def connect(_dialect: object, _record: object, args: list[Any], options: dict[str, Any]) -> Session:
    """A session, once there is a primary to have it with."""
    while True:
        try:
            return Session.connect(*args, **options)
        except psycopg.OperationalError as error:
            if not waits.is_set():
                raise
            logger.warning("database away", exc_info=ConnectionError(str(error)))
        if stopping.wait(AGAIN_S):
            raise Stopped


def _in_time(gen: PQGen[Any]) -> PQGen[Any]:
    """Each step of `gen`, until one takes too long. Who waits is called ten times a second."""
    until = time.monotonic() + ANSWER_S_MAX
    if stopping.is_set():
        raise Stopped
    try:
        state = next(gen)
        while True:
            ready = yield state
            if not ready and stopping.is_set():
                raise Stopped
            if not ready and time.monotonic() > until:
                raise Unanswered(f"no answer within {ANSWER_S_MAX:.0f} s")
            state = gen.send(ready)
    except StopIteration as done:
        return done.value
