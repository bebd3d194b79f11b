"""What a library prints instead of logging it, as lines of the log."""

import io
import threading
from typing import Final

from structlog.typing import FilteringBoundLogger

TRACEBACK: Final = "Traceback ("


class Printed(io.TextIOBase):
    """A text stream. Each line becomes one of the log; a traceback, which ends with the first line
    that is not indented, becomes one altogether."""

    def __init__(self, logger: FilteringBoundLogger) -> None:
        self._logger = logger
        self._lock = threading.RLock()
        self._rest = ""  # of a line that has not ended
        self._trace: list[str] = []

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        with self._lock:
            *lines, self._rest = (self._rest + text).split("\n")
            for line in lines:
                self._take(line)
        return len(text)

    def _take(self, line: str) -> None:
        if line.startswith(TRACEBACK) or (self._trace and line.startswith(" ")):
            self._trace.append(line)
        elif self._trace:
            trace, self._trace = "\n".join([*self._trace, line]), []
            self._logger.error(line, exception=trace)
        elif line.strip():
            self._logger.warning(line)
