"""Structured logs on stderr, one JSON object a line, with the correlation id bound."""

import logging
import sys

import orjson
import structlog
from structlog.typing import FilteringBoundLogger

Logger = FilteringBoundLogger


def configure(plane: str, level: str = "info") -> None:
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_serialize),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(plane=plane)
    logging.basicConfig(level=max(threshold, logging.WARNING), stream=sys.stderr)


def get(name: str) -> Logger:
    logger: Logger = structlog.get_logger(source=name)
    return logger


def _serialize(event: object, **_: object) -> str:
    return orjson.dumps(event, default=str).decode()
