"""Secrets of drivers: read from a file or the environment, never written in a configuration."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

WANTED: Final = 'where the secret is, as { file = "…" } or { env = "…" }, never the secret itself'


@dataclass(frozen=True)
class Secret:
    """Has no text: whoever logs or shows it shows nothing."""

    value: str = field(repr=False)


class Unreadable(Exception):
    """What is wrong with where a secret should be."""


def fetch(given: object) -> Secret:
    """The secret that a configuration points at."""
    if isinstance(given, Mapping):
        place = cast("Mapping[str, object]", given)
        for source, get in (("file", _file), ("env", _environment)):
            name = place.get(source)
            if len(place) == 1 and isinstance(name, str) and name:
                return Secret(get(name))
    raise Unreadable(f"must be {WANTED}")


def _file(name: str) -> str:
    try:
        text = Path(name).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise Unreadable(f"file {name} cannot be read ({why})") from None
    if not text:
        raise Unreadable(f"file {name} is empty; put the secret there")
    return text


def _environment(name: str) -> str:
    text = os.environ.get(name, "").strip()
    if not text:
        raise Unreadable(f"environment variable {name} is not set; put the secret there")
    return text
