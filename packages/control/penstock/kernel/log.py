"""Structured logs on stderr, one JSON object a line, with the correlation id bound.

Whoever writes a line, here or in a library, and whatever went wrong: it is one line, with the
traceback as a field. That the database is away is told without a traceback, the first time and
then rarely (`outages`).
Lines that nobody takes are dropped and counted: nothing waits for a reader of logs.
"""

import logging
import sys
import threading
from types import TracebackType
from typing import Final

import orjson
import structlog
from prometheus_client import Counter
from structlog.typing import EventDict, FilteringBoundLogger, WrappedLogger

from penstock.kernel.outages import Outages
from penstock.kernel.printed import Printed
from penstock_contracts import lossy

Logger = FilteringBoundLogger
_outages = Outages()
back = _outages.end  # says whether the database was away
DROPPED: Final = Counter("penstock_log_lines_dropped", "Log lines that nobody took")


def configure(plane: str, level: str = "info") -> None:
    stream = lossy.on(sys.stderr, _missing, DROPPED.inc)
    threshold = logging.getLevelNamesMapping()[level.upper()]

    def name_plane(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        return {**event, "plane": plane}

    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            name_plane,  # in every thread
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _outages.tell_rarely,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_serialize),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=max(threshold, logging.WARNING), handlers=[_Forwarder()], force=True)
    logging.captureWarnings(capture=True)
    sys.stderr = Printed(get("stderr"))
    sys.excepthook = _on_uncaught
    threading.excepthook = lambda args: _on_uncaught(
        args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback
    )
    sys.unraisablehook = lambda args: _on_uncaught(
        args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback
    )


def get(name: str) -> Logger:
    logger: Logger = structlog.get_logger(source=name)
    return logger


def adopt(name: str) -> None:
    """Have a library's logger write as all others do, whatever it set up for itself."""
    theirs = logging.getLogger(name)
    theirs.handlers.clear()
    theirs.propagate = True


class _Forwarder(logging.Handler):
    """What libraries log, as lines of ours."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            get(record.name).log(record.levelno, record.getMessage(), exc_info=record.exc_info)
        except Exception as error:  # its arguments do not fit its text, for one
            get(record.name).error("a line could not be written", text=record.msg, why=str(error))


def _on_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    get(__name__).critical("uncaught", exc_info=(kind, error, trace))


def _serialize(event: object, **_: object) -> str:
    return orjson.dumps(event, default=str).decode()


def _missing(lines: int) -> str:
    event = {"level": "warning", "event": "log lines dropped", "lines": lines}
    return orjson.dumps(event).decode() + "\n"
