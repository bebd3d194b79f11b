"""Join tokens for nodes that have not joined yet, one a line; line i belongs to node i."""

from collections.abc import Sequence
from pathlib import Path

from penstock_contracts.join import InvalidToken, JoinToken


class TokensUnusable(Exception):
    """A node that must join has no usable token."""


def read(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        return path.read_text("ascii", errors="replace").splitlines()
    except OSError as error:
        raise TokensUnusable(f"{path} cannot be read: {error.strerror}") from error


def of_node(lines: Sequence[str], number: int, name: str) -> JoinToken:
    """The token of node `number` (from 1)."""
    text = lines[number - 1].strip() if number <= len(lines) else ""
    if not text:
        raise TokensUnusable(
            f"{name} has not joined a site and has no token: put one on line {number} of the"
            " file that --token-file names"
        )
    try:
        return JoinToken.decode(text)
    except InvalidToken as error:
        raise TokensUnusable(f"line {number} of the token file: {error}") from error
