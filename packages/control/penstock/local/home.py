"""Where one embedded database keeps its files.

FOLDER/lock      held while a launcher is at work
FOLDER/data      PGDATA, owned by the database's account
FOLDER/socket    the only door, in a directory that only that account (and root) may enter
FOLDER/elsewhere when root's FOLDER cannot be reached by the account: where data is instead
"""

import fcntl
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.local import account, programs
from penstock.local.account import Account

# sun_path holds 108 bytes with its end; the socket's own name is .s.PGSQL.5432
SOCKET_FOLDER_BYTES_MAX: Final = 107 - len("/.s.PGSQL.5432")


class FolderTaken(Exception):
    """Another process works on this folder."""


class DataMissing(Exception):
    """The database that this folder points at is gone."""


@dataclass(frozen=True)
class Home:
    folder: Path
    account: Account | None

    @property
    def data(self) -> Path:
        return self.folder / "data"


def settle(folder: Path) -> Home:
    """Make `folder` ready; as root, move out of it if the database could not reach it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    pointer = folder / "elsewhere"
    if pointer.exists():
        place = Path(pointer.read_text().strip())
        if not place.is_dir():
            raise DataMissing(
                f"the database of {folder} was kept in {place}, which is gone; "
                f"put it back, or delete {folder} to begin anew"
            )
        return Home(place, account.choose(place / "data"))
    runner = account.choose(folder / "data")
    if runner is not None:
        folder.chmod(0o711)
        if not account.reaches(runner, folder):
            folder = _move_out(pointer)
    return Home(folder, runner)


def lock(folder: Path) -> int:
    """Take the folder for this process; the kernel gives it back when the process ends."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise FolderTaken(f"{folder} is in use by another process that is running") from error
    return descriptor


def socket_folder(home: Home) -> Path:
    """A private directory for the socket; in a shorter place if its path would be too long."""
    folder = home.folder / "socket"
    if len(os.fsencode(folder)) > SOCKET_FOLDER_BYTES_MAX:
        runtime = os.environ.get("XDG_RUNTIME_DIR") if home.account is None else None
        folder = Path(tempfile.mkdtemp(prefix="penstock-", dir=runtime or "/tmp"))  # noqa: S108 mkdtemp is private
    folder.mkdir(exist_ok=True, mode=0o700)
    account.give(home.account, folder)
    return folder


def _move_out(pointer: Path) -> Path:
    programs.SHARED.mkdir(parents=True, exist_ok=True)
    programs.SHARED.chmod(0o755)
    place = Path(tempfile.mkdtemp(prefix="postgres-", dir=programs.SHARED))
    place.chmod(0o711)
    pointer.write_text(f"{place}\n")
    return place
