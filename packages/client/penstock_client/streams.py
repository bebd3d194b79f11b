"""The standard streams: whatever is wrong with them is one line on stderr, and an exit code."""

import errno
import io
import os
import sys
from typing import TYPE_CHECKING, Final, TextIO

from penstock_client import errors

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

READER_LEFT: Final = 141  # as a shell tells of SIGPIPE
STDIN, STDOUT, STDERR = range(3)


class StdoutLost(OSError):
    """What was written to stdout cannot leave us."""


class Stdout(io.FileIO):
    """Tells its own failures from those of any other file."""

    def write(self, b: "ReadableBuffer", /) -> int:
        try:
            return super().write(b)
        except OSError as error:
            raise StdoutLost(error.errno, error.strerror) from None


def prepare() -> None:
    """Whoever starts us may have closed any of the three; no file of ours may take its place."""
    # A closed stdout is opened for reading: an answer written there is lost, and must fail.
    for number, mode in ((STDIN, os.O_RDONLY), (STDOUT, os.O_RDONLY), (STDERR, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, mode), number)
    if sys.stdin is None:
        sys.stdin = os.fdopen(STDIN, encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(STDERR, "w", encoding="utf-8", closefd=False)
    sys.stdout = _stdout(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode


def _stdout(given: TextIO | None) -> TextIO:
    raw = Stdout(STDOUT, "w", closefd=False)
    if not isinstance(given, io.TextIOWrapper):
        return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8")
    if given.write_through:  # python -u
        return io.TextIOWrapper(raw, given.encoding, write_through=True)
    buffered = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffered, given.encoding, line_buffering=given.line_buffering)


def give_up(error: OSError) -> int:
    """Tell what the system refused us."""
    why = error.strerror or type(error).__name__
    if not isinstance(error, StdoutLost):
        tell(f"penstock: {error.filename}: {why}" if error.filename else f"penstock: {why}")
        return errors.REFUSED
    _silence(STDOUT)
    if error.errno == errno.EPIPE:
        return READER_LEFT
    tell(f"penstock: the answer cannot be written: {why}; what was asked for may have been done")
    return errors.REFUSED


def tell(line: str) -> None:
    """On stderr, if that can be written to."""
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        _silence(STDERR)


def _silence(number: int) -> None:
    """What is still in its buffer goes nowhere, so that the exit does not complain of it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)
