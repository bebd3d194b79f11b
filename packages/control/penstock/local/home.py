"""Where one embedded database keeps its files.

FOLDER/lock      held while a launcher is at work
FOLDER/data      PGDATA, owned by the database's account
FOLDER/socket    the only door, in a directory that only that account (and root) may enter
FOLDER/elsewhere when root's FOLDER cannot be reached by the account: where data is instead
"""

import fcntl
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.local import account, programs
from penstock.local.account import Account

# sun_path holds 108 bytes with its end; the socket's own name is .s.PGSQL.5432
SOCKET_FOLDER_BYTES_MAX: Final = 107 - len("/.s.PGSQL.5432")


# Who only asks whether somebody has it holds it for a moment.
LOCK_ATTEMPTS: Final = 5
LOCK_WAIT_S: Final = 0.05


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
        place = _pointed_at(pointer)
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


def database_folder(folder: Path) -> Path:
    """Where PGDATA is, or would be if there were one."""
    pointer = folder / "elsewhere"
    return (_pointed_at(pointer) if pointer.exists() else folder) / "data"


def lock(folder: Path) -> int:
    """Take the folder for this process; the kernel gives it back when the process ends."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    for attempt in range(1, LOCK_ATTEMPTS + 1):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if attempt == LOCK_ATTEMPTS:
                os.close(descriptor)
                raise FolderTaken(f"{folder} is in use by another process that runs") from error
            time.sleep(LOCK_WAIT_S)
        else:
            break
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


def _pointed_at(pointer: Path) -> Path:
    place = pointer.read_bytes().strip()
    if not place.startswith(b"/") or b"\0" in place:
        raise DataMissing(
            f"{pointer} does not say where the database of {pointer.parent} is: "
            f"it is a folder in {programs.SHARED}; write its path there"
        )
    return Path(os.fsdecode(place))


def _move_out(pointer: Path) -> Path:
    programs.SHARED.mkdir(parents=True, exist_ok=True)
    programs.SHARED.chmod(0o755)
    place = Path(tempfile.mkdtemp(prefix="postgres-", dir=programs.SHARED))
    place.chmod(0o711)
    pointer.write_text(f"{place}\n")
    return place
