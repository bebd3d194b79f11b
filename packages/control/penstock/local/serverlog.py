"""A server's log: copied to a file, and listened to for the word that it is ready."""

import threading
from collections import deque
from typing import IO

from penstock.local.logfile import LogFile


class ServerLog:
    """Each process of the server holds the pipe `source`, so its end is the end of them all."""

    def __init__(self, source: IO[bytes], file: LogFile, ready_word: bytes) -> None:
        self.ready = False
        self.ready_or_ended = threading.Event()
        self._source = source
        self._file = file
        self._ready_word = ready_word
        self._tail: deque[bytes] = deque(maxlen=20)
        self._thread = threading.Thread(target=self._copy, name="server-log", daemon=True)
        self._thread.start()

    def tail(self) -> str:
        return b"".join(self._tail).decode(errors="replace").strip()

    def ended(self) -> bool:
        return not self._thread.is_alive()

    def wait_for_end(self, timeout_s: float | None = None) -> None:
        self._thread.join(timeout_s)

    def _copy(self) -> None:
        with self._source:
            for line in self._source:
                self._tail.append(line)
                self._file.write(line)
                if self._ready_word in line:
                    self.ready = True
                    self.ready_or_ended.set()
        self._file.close()
        self.ready_or_ended.set()
