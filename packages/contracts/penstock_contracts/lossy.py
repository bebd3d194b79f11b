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
from pathlib import Path
from typing import Final, TextIO, cast

BYTES_MAX: Final = 1024 * 1024  # that wait to be written
LAST_S_MAX: Final = 2.0  # for what still waits when the process ends


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
                pieces = b"".join(self._waiting)
                self._waiting.clear()
            self._lose(pieces[self._put(pieces) :])
            with self._changed:
                self._waiting_bytes -= len(pieces)
            self._tell_missing()

    def _tell_missing(self) -> None:
        missing = self._missing
        line = self._notice(missing).encode() if missing else b""
        if self._put(line) == len(line):
            with self._changed:
                self._missing -= missing

    def _lose(self, pieces: bytes) -> None:
        if lines := pieces.count(b"\n"):
            with self._changed:
                self._missing += lines
            self._dropped(lines)

    def _put(self, pieces: bytes) -> int:
        """How much of it was written; it may take as long as the reader takes."""
        written, view = 0, memoryview(pieces)
        try:
            while written < len(pieces):
                try:
                    written += os.write(self._descriptor, view[written:])
                except BlockingIOError:  # somebody made the terminal so
                    poll = select.poll()
                    poll.register(self._descriptor, select.POLLOUT)
                    poll.poll()
        except OSError:
            pass
        return written


def on(
    stream: TextIO | None,
    notice: Callable[[int], str],
    dropped: Callable[[int], None] = lambda _lines: None,
) -> TextIO:
    """The same file as `stream`, lossy. A stream on no file cannot block, and stays what it is."""
    if stream is None:  # Python's word for one that was closed before the process began
        return Path(os.devnull).open("w")
    try:
        descriptor = stream.fileno()
    except OSError:
        return stream
    return cast("TextIO", LossyStream(descriptor, notice, dropped))
