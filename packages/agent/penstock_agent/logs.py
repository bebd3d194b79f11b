"""Log lines: JSON on stderr, one object a line. Nothing secret is ever bound to one."""

import sys
from contextlib import suppress

import structlog


class Stderr:
    """Writes lines. A reader that went away must not stop a node, so failure is silent."""

    def msg(self, line: str) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    debug = info = warning = error = critical = msg


def configure() -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger("info"),
        logger_factory=lambda *_: Stderr(),
        cache_logger_on_first_use=True,
    )
