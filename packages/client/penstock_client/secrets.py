"""Secrets that a command needs: asked for, or read from a file or standard input."""

import getpass
import sys
from pathlib import Path
from typing import Final

from penstock_client import errors

SHOWN: Final = "THE-SECRET"  # instead of one, where a call is only shown


def read(what: str, path: str | None = None) -> str:
    """One line. `path`: `-` is standard input; none asks whoever sits there."""
    try:
        text = _read(what, path)
    except (OSError, UnicodeDecodeError) as error:
        raise errors.Misused(f"{path} cannot be read: {error}") from None
    secret = text.strip()
    if not secret or not secret.isascii() or not secret.isprintable():
        raise errors.Misused(f"the {what} is empty or is not one line of plain text")
    return secret


def _read(what: str, path: str | None) -> str:
    if path is not None and path != "-":
        return Path(path).read_text(encoding="utf-8")
    return getpass.getpass(f"{what}: ") if sys.stdin.isatty() else sys.stdin.read()
