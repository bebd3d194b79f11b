"""One SQLite file and the one thread that uses it. Operations that wait share a commit.

While the disk is full, or fails, they wait for it: nothing is lost, and nothing is answered that
is not durable.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

import structlog
from structlog.typing import FilteringBoundLogger

GROUP_MAX: Final = 512  # operations in one commit
SCHEMA_VERSION: Final = 1
NO_ROOM: Final = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
ROOM_WAIT_S: Final = 0.5
TOLD_EVERY: Final = 60  # waits

_log: FilteringBoundLogger = structlog.get_logger()

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]


class DatabaseUnusable(Exception):
    """The file cannot be opened as what it should be."""


class _Waiting(Protocol):
    def wanted(self) -> bool: ...
    def attempt(self, connection: sqlite3.Connection) -> None: ...
    def fail(self, error: Exception) -> None: ...
    def settle(self) -> None: ...


class _Job(Generic[T]):
    """One operation, and the future of who waits for it."""

    def __init__(self, work: Work[T], future: asyncio.Future[T]) -> None:
        self._work = work
        self._future = future
        self._outcome: Callable[[], None] = lambda: None

    def wanted(self) -> bool:
        """Whether somebody waits for it still."""
        return not self._future.cancelled()

    def attempt(self, connection: sqlite3.Connection) -> None:
        """Run inside a savepoint: a failed operation undoes itself, not its neighbours."""
        connection.execute("SAVEPOINT job")
        try:
            value = self._work(connection)
        except Exception as error:  # the waiter hears it, whatever it is
            if _lacks_room(error):  # but this one concerns all, and passes
                raise
            connection.execute("ROLLBACK TO job")
            self.fail(error)
        else:
            self._outcome = lambda: self._future.set_result(value)
        connection.execute("RELEASE job")

    def fail(self, error: Exception) -> None:
        self._outcome = lambda: self._future.set_exception(error)

    def settle(self) -> None:
        if not self._future.done():  # the waiter may have been cancelled
            self._outcome()


class Database:
    """Runs operations in the order they are asked for; each is durable once awaited."""

    def __init__(self, path: Path, schema: str) -> None:
        self._connection = _connect(path, schema)
        self._path = path
        self._closing = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=f"sqlite-{path.stem}", daemon=True)
        self._thread.start()

    async def run(self, work: Work[T]) -> T:
        future: asyncio.Future[T] = self._loop.create_future()
        self._waiting.put(_Job(work, future))
        return await future

    def close(self) -> None:
        """Finish what waits, then close the file. What waits for room is given up."""
        self._closing.set()
        self._waiting.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (first := self._waiting.get()) is not None:
            group = [first]
            closing = _take_waiting(self._waiting, group)
            self._commit(group)
            try:
                self._loop.call_soon_threadsafe(_settle, group)
            except RuntimeError:  # the loop is closed: nobody waits any more
                break
            if closing:
                break
        self._connection.close()

    def _commit(self, group: Sequence[_Waiting]) -> None:
        waits = 0
        while (error := _attempt(self._connection, group)) is not None:
            if not _lacks_room(error) or self._closing.is_set():
                for job in group:
                    job.fail(error)
                return
            if waits % TOLD_EVERY == 0:
                _log.error("no room to write; tries again", file=str(self._path), why=str(error))
            waits += 1
            self._closing.wait(ROOM_WAIT_S)
            group = [job for job in group if job.wanted()]
        if waits:
            _log.info("written again", file=str(self._path))


@contextmanager
def opened(path: Path, schema: str) -> Generator[Database]:
    database = Database(path, schema)
    try:
        yield database
    finally:
        database.close()


def _take_waiting(waiting: queue.SimpleQueue[_Waiting | None], group: list[_Waiting]) -> bool:
    """Add to `group` all that wait; True if the database is to be closed after them."""
    while len(group) < GROUP_MAX:
        try:
            job = waiting.get_nowait()
        except queue.Empty:
            return False
        if job is None:
            return True
        group.append(job)
    return False


def _attempt(connection: sqlite3.Connection, group: Sequence[_Waiting]) -> sqlite3.Error | None:
    """Commit the whole group; or none of it, and why."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        for job in group:
            job.attempt(connection)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        with suppress(sqlite3.Error):  # a full disk may have ended the transaction already
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        return error
    return None


def _lacks_room(error: Exception) -> bool:
    code: int = getattr(error, "sqlite_errorcode", 0)  # none, if it is not SQLite's own
    return isinstance(error, sqlite3.Error) and code & 0xFF in NO_ROOM


def _settle(group: Sequence[_Waiting]) -> None:
    for job in group:
        job.settle()


def _connect(path: Path, schema: str) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            script = f"BEGIN IMMEDIATE; {schema} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT"
            connection.executescript(script)
    except sqlite3.Error as error:
        raise DatabaseUnusable(
            f"{path} cannot be opened: {error}; put back a copy, or move it away to begin anew"
        ) from error
    if version > SCHEMA_VERSION:
        raise DatabaseUnusable(f"{path} was written by a newer agent; run that one")
    return connection
