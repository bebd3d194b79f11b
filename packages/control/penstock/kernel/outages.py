"""An outage of the database in the log: told when it begins, then rarely, and when it is over.

All who need the database fail while it is away, again and again, and each says so. Of each message
the first is written, and one every so often, with how many were not.
"""

import sys
import threading
import time
from typing import Final, cast

from structlog import DropEvent
from structlog.typing import EventDict, WrappedLogger

from penstock.kernel.faults import lost_in

EVERY_S: Final = 30.0
MESSAGES_MAX: Final = 200


class Outages:
    """A processor of log lines; called by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: dict[str, tuple[float, int]] = {}  # when, and how many since

    def tell_rarely(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        error = _error_of(event.get("exc_info"))
        lost = None if error is None else lost_in(error)
        if lost is None:
            return event
        # What follows the first line is different each time: a task's number, for one.
        message = str(event["event"]).partition("\n")[0]
        unsaid = self._count(f"{event.get('source')} {message}")
        if unsaid is None:
            raise DropEvent
        del event["exc_info"]
        event["event"], event["error"] = message, str(lost) or type(lost).__name__
        if unsaid:
            event["unsaid"] = unsaid
        return event

    def end(self) -> bool:
        """The database is back: its next outage is told at once. Whether there was one."""
        with self._lock:
            told, self._told = self._told, {}
        return bool(told)

    def _count(self, message: str) -> int | None:
        """How often it was not told since it last was; None if it shall not be told now."""
        now = time.monotonic()
        with self._lock:
            at, unsaid = self._told.get(message, (None, 0))
            if at is not None and now - at < EVERY_S:
                self._told[message] = at, unsaid + 1
                return None
            if len(self._told) >= MESSAGES_MAX:
                self._told.clear()
            self._told[message] = now, 0
            return unsaid


def _error_of(exc_info: object) -> BaseException | None:
    if exc_info is True:
        return sys.exception()
    if isinstance(exc_info, tuple):
        exc_info = cast("tuple[object, ...]", exc_info)[1]
    return exc_info if isinstance(exc_info, BaseException) else None
