"""Secrets: checked where they are read, and hidden wherever something is shown for debugging."""

import getpass
import sys
from pathlib import Path
from typing import Final

from penstock_client import errors

SHOWN: Final = "THE-SECRET"  # instead of one, where a call is only shown


class Secret(str):
    """Text that its `repr` does not tell, so that no traceback or log of a value does."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Secret('…')"


def clean(text: str, what: str) -> Secret:
    """The secret without what surrounds it. What cannot be in a header is refused, untold."""
    secret = text.strip()
    if not secret or not secret.isascii() or not secret.isprintable():
        raise errors.Misused(f"{what} is empty or is not one line of plain text")
    return Secret(secret)


def read(what: str, path: str | None = None) -> Secret:
    """One line. `path`: `-` is standard input; none asks whoever sits there."""
    try:
        text = _read(what, path)
    except (OSError, UnicodeDecodeError) as error:
        raise errors.Misused(f"{path or what} cannot be read: {error}") from None
    except EOFError:
        raise errors.Misused(f"no {what} was given") from None
    return clean(text, f"the {what}")


def _read(what: str, path: str | None) -> str:
    if path is not None and path != "-":
        return Path(path).read_text(encoding="utf-8")
    return getpass.getpass(f"{what}: ") if sys.stdin.isatty() else sys.stdin.read()
