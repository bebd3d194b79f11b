"""The data folder of `penstock up`: made, taken for this process, with its secrets."""

import json
import os
import re
import secrets
from pathlib import Path
from typing import Final

from penstock.local import home
from penstock.local.children import admin_token_file
from penstock.local.errors import Refused
from penstock_contracts import files

TOKEN: Final = re.compile(rb"pk_[A-Za-z0-9_-]{16,128}")


def take(data: Path) -> int:
    """Make the folder and hold it for this process; refuse if another `up` has it."""
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        _open_for_database(data)
        return home.lock(data)
    except home.FolderTaken as error:
        raise Refused(
            f"another `penstock up` is running on {data}; stop it, or use another --data"
        ) from error
    except OSError as error:
        raise Refused(f"{data} cannot be used as the data folder: {error.strerror}") from error


def admin_token(data: Path) -> str:
    """The platform administrator's token, made once."""
    path = admin_token_file(data)
    if not path.exists():
        files.write_private(path, f"pk_{secrets.token_urlsafe(32)}\n".encode())
    token = path.read_bytes().strip()
    if not TOKEN.fullmatch(token):
        raise Refused(
            f"{path} holds no token ({len(token)} bytes, it begins with pk_): put back a copy, "
            "or delete it and get a new one; the old one stays good until it is revoked"
        )
    return token.decode()


def write_ready(data: Path, facts: dict[str, object]) -> Path:
    path = data / "ready.json"
    files.write_private(path, (json.dumps(facts, indent=2) + "\n").encode())
    return path


def remove_ready(data: Path) -> None:
    (data / "ready.json").unlink(missing_ok=True)


def _open_for_database(data: Path) -> None:
    """As root: let the database's account pass through a folder that is ours alone.

    It can enter, not look around; each thing inside is closed to it by itself.
    """
    ours = (data / "up.json").exists() or not any(data.iterdir())
    if os.geteuid() == 0 and ours:
        data.chmod(0o711)
