"""A stream that drops rather than waits, so that nobody's work stops for want of a reader.

A reader that stopped, a full disk or a terminal on hold would block or fail whoever writes a line.
Here a thread does the writing; lines that find no room are dropped and counted, and a line says
how many once it can be written.
"""

import atexit
import io
import os
import select
import threading
from collections import deque
from collections.abc import Callable
from typing import Final, TextIO, cast

BYTES_MAX: Final = 1024 * 1024  # that wait to be written
LAST_S_MAX: Final = 1.0  # for what still waits when the process ends


class LossyStream(io.TextIOBase):
    """A text stream on `descriptor`. Writing to it takes no time and never fails.

    `notice` makes the line that says how many are missing; `dropped` hears of each that is.
    """

    def __init__(
        self,
        descriptor: int,
        notice: Callable[[int], str],
        dropped: Callable[[int], None] = lambda _lines: None,
        bytes_max: int = BYTES_MAX,
    ) -> None:
        self._descriptor = descriptor
        self._notice = notice
        self._dropped = dropped
        self._bytes_max = bytes_max
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._busy = False
        self._missing = 0
        threading.Thread(target=self._serve, name=f"lines-{descriptor}", daemon=True).start()
        atexit.register(self.finish)

    def write(self, text: str, /) -> int:
        piece = text.encode(errors="replace")
        with self._changed:
            if self._waiting_bytes + len(piece) > self._bytes_max:
                self._lose(piece)
            else:
                self._waiting.append(piece)
                self._waiting_bytes += len(piece)
                self._changed.notify_all()
        return len(text)

    def finish(self, timeout_s: float = LAST_S_MAX) -> None:
        """Wait until all is written, but not for long."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting and not self._busy, timeout_s)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] # it is fixed
        return "utf-8"

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting)
                self._busy = True
                piece = self._waiting.popleft()
            if not self._put(piece):
                self._lose(piece)
            with self._changed:
                self._waiting_bytes -= len(piece)
            self._tell_missing()

    def _tell_missing(self) -> None:
        missing = self._missing
        if missing and self._put(self._notice(missing).encode()):
            with self._changed:
                self._missing -= missing

    def _lose(self, piece: bytes) -> None:
        lines = piece.count(b"\n")
        with self._changed:
            self._missing += lines
        self._dropped(lines)

    def _put(self, piece: bytes) -> bool:
        """Whether all of it was written; it may take as long as the reader takes."""
        left = memoryview(piece)
        try:
            while left:
                try:
                    left = left[os.write(self._descriptor, left) :]
                except BlockingIOError:  # somebody made the terminal so
                    poll = select.poll()
                    poll.register(self._descriptor, select.POLLOUT)
                    poll.poll()
        except OSError:
            return False
        return True


def on(
    descriptor: int,
    notice: Callable[[int], str],
    dropped: Callable[[int], None] = lambda _lines: None,
) -> TextIO:
    """A lossy stream as the type that printing asks for."""
    return cast("TextIO", LossyStream(descriptor, notice, dropped))
