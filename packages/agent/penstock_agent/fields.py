"""Reading a JSON file that people write: every field checked, every complaint precise."""

import json
from pathlib import Path
from typing import Final, cast

FILE_BYTES_MAX: Final = 1 << 20


class FieldInvalid(Exception):
    """What is wrong, and with which field of which file."""


class Fields:
    """One JSON object of a file. Take every field, then `end`."""

    def __init__(self, where: str, value: object) -> None:
        self.where = where
        if not isinstance(value, dict):
            raise FieldInvalid(f"{where} must be an object")
        self._left = dict(cast("dict[str, object]", value))

    def text(self, name: str, default: str | None = None) -> str:
        value = self._take(name, default)
        if not isinstance(value, str) or not (value or default == "") or len(value) > 128:
            raise self.invalid(name, "must be a text of 1 to 128 characters")
        if not value.isprintable():
            raise self.invalid(name, "has characters that cannot be printed")
        return value

    def integer(self, name: str, least: int, most: int, default: int | None = None) -> int:
        value = self._take(name, default)
        if type(value) is not int or not least <= value <= most:
            raise self.invalid(name, f"must be a whole number from {least} to {most}")
        return value

    def flag(self, name: str) -> bool:
        value = self._take(name, None)
        if not isinstance(value, bool):
            raise self.invalid(name, "must be true or false")
        return value

    def objects(self, name: str, least: int, most: int) -> list["Fields"]:
        value = self._take(name, None)
        if not isinstance(value, list):
            raise self.invalid(name, f"must be a list of {least} to {most} objects")
        items = cast("list[object]", value)
        if not least <= len(items) <= most:
            raise self.invalid(name, f"must have {least} to {most} items; it has {len(items)}")
        return [Fields(f"{self.where}: {name}[{i}]", item) for i, item in enumerate(items)]

    def has(self, name: str) -> bool:
        return name in self._left

    def end(self) -> None:
        """Refuse what nobody asked for: a misspelt field must not pass in silence."""
        if self._left:
            raise self.invalid(min(self._left), "is not a field that this file can have")

    def invalid(self, name: str, problem: str) -> FieldInvalid:
        return FieldInvalid(f"{self.where}: {name} {problem}")

    def _take(self, name: str, default: object) -> object:
        if name not in self._left and default is None:
            raise self.invalid(name, "is missing")
        return self._left.pop(name, default)


def load(path: Path) -> Fields:
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise FieldInvalid(f"{path} cannot be read: {error.strerror}") from error
    if len(raw) > FILE_BYTES_MAX:
        raise FieldInvalid(f"{path} is larger than {FILE_BYTES_MAX} bytes")
    try:
        value: object = json.loads(raw, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise FieldInvalid(f"{path} is not valid JSON: {error}") from error
    return Fields(str(path), value)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    for i, (name, _) in enumerate(pairs):
        if any(name == other for other, _ in pairs[:i]):
            raise ValueError(f"{name!r} is given twice")
    return dict(pairs)
