"""Files that must be whole or absent, and secrets that only their owner may read."""

import os
from contextlib import suppress
from pathlib import Path


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
        os.write(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return draft


def sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
