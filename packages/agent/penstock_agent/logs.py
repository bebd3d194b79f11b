"""Log lines: JSON on stderr, one object a line. Nothing secret is ever bound to one."""

import json
import logging
import sys

import structlog

from penstock_contracts import lossy


def configure() -> None:
    """A reader that stopped or went away must not stop a node, so lines may be lost."""
    stream = lossy.on(sys.stderr, _missing)
    sys.stderr = stream
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger("info"),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=stream)


def _missing(lines: int) -> str:
    return json.dumps({"level": "warning", "event": "log lines dropped", "lines": lines}) + "\n"
