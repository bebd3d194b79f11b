"""A log file that keeps its last two pieces, so that it cannot fill a disk."""

from pathlib import Path
from typing import Final

BYTES_MAX: Final = 32 * 1024 * 1024


class LogFile:
    def __init__(self, path: Path, bytes_max: int = BYTES_MAX) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = path
        self._bytes_max = bytes_max
        self._begin()

    def write(self, piece: bytes) -> None:
        if self._size > self._bytes_max:
            self.close()
            self._begin()
        self._size += self._file.write(piece)

    def close(self) -> None:
        self._file.close()

    def _begin(self) -> None:
        if self._path.exists():
            self._path.replace(self._path.with_name(f"{self._path.name}.old"))
        self._file = self._path.open("xb", buffering=0)
        self._size = 0
