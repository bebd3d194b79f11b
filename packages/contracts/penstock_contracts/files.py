"""Files that must be whole or absent, and secrets that only their owner may read."""

import os
from contextlib import suppress
from pathlib import Path


class Damaged(Exception):
    """A file is gone or is not what it should be; the message says what to do. Nothing changed."""

    def __init__(self, path: Path, wrong: str, then: str) -> None:
        super().__init__(f"{path} {wrong}: {then}")
        self.path = path


def write_private(path: Path, content: bytes) -> None:
    """Replace `path` in one step, durably, with mode 0600."""
    _draft(path, content).replace(path)
    sync_folder(path.parent)


def write_private_once(path: Path, content: bytes) -> None:
    """Like write_private, unless `path` is there already: of several writers, the first wins."""
    draft = _draft(path, content)
    with suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
    sync_folder(path.parent)


def _draft(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        # Not os.write: a disk that is almost full takes a part and calls that a success.
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return draft


def sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
