"""A log file that keeps its last two pieces, so that it cannot fill a disk.

Writing to it never fails. What cannot be written is counted, and the file says so once there is
room again: nobody's work may end because a line about it could not be kept.
"""

from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Final

BYTES_MAX: Final = 32 * 1024 * 1024


class LogFile:
    def __init__(self, path: Path, bytes_max: int = BYTES_MAX) -> None:
        self._path = path
        self._bytes_max = bytes_max
        self._size = 0
        self._whole = True  # what was written last ended with its line
        self.dropped_bytes = 0  # since something could be written last
        self._file = self._begin()

    def write(self, piece: bytes) -> None:
        if self._file is None or self._size > self._bytes_max:
            self.close()
            self._file = self._begin()
        if self.dropped_bytes and not self._tell_dropped():
            self.dropped_bytes += len(piece)
            return
        self.dropped_bytes += len(piece) - self._put(piece)

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    def _begin(self) -> FileIO | None:
        self._size = 0
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self._path.exists():
                self._path.replace(self._path.with_name(f"{self._path.name}.old"))
            return self._path.open("xb", buffering=0)
        except OSError:
            return None

    def _tell_dropped(self) -> bool:
        """True once the file says how much is missing here."""
        begin = b"" if self._whole else b"\n"
        line = b"%s(%d bytes of this log could not be written)\n" % (begin, self.dropped_bytes)
        if self._put(line) < len(line):
            return False
        self.dropped_bytes = 0
        return True

    def _put(self, piece: bytes) -> int:
        """How much of it was written: a disk may have room for the first half only."""
        written = 0
        if self._file is not None:
            with suppress(OSError):
                written = self._file.write(piece)
        if written:
            self._size += written
            self._whole = piece[written - 1 : written] == b"\n"
        return written
