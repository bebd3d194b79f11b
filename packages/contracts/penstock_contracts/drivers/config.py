"""Typed configuration of drivers. An error names the file and the field, and says what is wanted.

A configuration is a frozen dataclass. (Not pydantic: the agent reads these too, and stays small.)
A field is text, a number, a truth, a Path, a Literal, a Secret, a tuple of these, or another such
dataclass, and may be None; `Annotated[…, Must(…)]` narrows it. A condition on several fields is a
ValueError of `__post_init__`. Fields that nobody declared are refused.
"""

import dataclasses
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin
from typing import get_type_hints as hints_of

from penstock_contracts import web_addresses
from penstock_contracts.drivers.secrets import WANTED, Secret, Unreadable, fetch

C = TypeVar("C")


class Misconfigured(Exception):
    """The configuration cannot be used. Each line names a place in it."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True)
class Must:
    """A condition on a field; `be` completes the sentence "must be …"."""

    be: str
    holds: Callable[[Any], bool]


@dataclass(frozen=True)
class Field:
    """A field as an operator is told of it."""

    name: str
    wanted: str
    required: bool


def within(least: float, most: float) -> Must:
    return Must(f"from {least:g} to {most:g}", lambda value: least <= value <= most)


def _is_plain(text: str) -> bool:
    address = web_addresses.parse(text)
    return address is not None and address.query is None and not text.endswith("/")


WebAddress = Annotated[
    str, Must("an http(s) address without a slash at its end, as in https://api.example", _is_plain)
]
PLAIN: Final[Mapping[type, str]] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
    Secret: WANTED,
}
UNIONS: Final = (Union, types.UnionType)


def read(kind: type[C], given: Mapping[str, object], where: str) -> C:
    """The configuration; `where` begins every message: "drivers.toml: realm.keycloak".

    Raises Misconfigured with all that is wrong.
    """
    hints = hints_of(kind, include_extras=True)
    fields = {each.name: each for each in describe(kind)}
    problems = [
        f"{where}.{name}: there is no such field; the fields are {', '.join(fields) or 'none'}"
        for name in given
        if name not in fields
    ]
    values: dict[str, object] = {}
    for name, each in fields.items():
        place = f"{where}.{name}"
        try:
            if name in given:
                values[name] = _value(hints[name], given[name], place)
            elif each.required:
                problems.append(f"{place}: is missing; it must be {each.wanted}")
        except Misconfigured as error:
            problems += error.problems
    if problems:
        raise Misconfigured(problems)
    try:
        return kind(**values)
    except ValueError as error:
        raise Misconfigured([f"{where}: {error}"]) from None


def describe(kind: Any) -> tuple[Field, ...]:
    """Its fields. Raises TypeError for a configuration that cannot be read from a file."""
    if not dataclasses.is_dataclass(kind):
        raise TypeError(f"its configuration {kind!r} is not a dataclass")
    hints = hints_of(kind, include_extras=True)
    return tuple(
        Field(each.name, _wanted(hints[each.name]), _is_required(each))
        for each in dataclasses.fields(kind)
    )


def _value(hint: Any, given: object, where: str) -> object:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        value = _value(parts[0], given, where)
        if wrong := [f"{where}: must be {must.be}" for must in parts[1:] if not must.holds(value)]:
            raise Misconfigured(wrong)
        return value
    if origin in UNIONS:
        return _value(_but_none(parts), given, where)
    if origin is tuple and isinstance(given, list):
        listed = enumerate(cast("list[object]", given))
        return tuple(_value(parts[0], each, f"{where}[{i}]") for i, each in listed)
    if hint is Secret:
        return _secret(given, where)
    if dataclasses.is_dataclass(hint) and isinstance(given, dict):
        return read(cast("type[object]", hint), cast("dict[str, object]", given), where)
    if not _is_of(hint, given):
        raise Misconfigured([f"{where}: must be {_wanted(hint)}"])
    if hint is float:
        return float(cast("float", given))
    return Path(str(given)) if hint is Path else given


def _secret(given: object, where: str) -> Secret:
    try:
        return fetch(given)
    except Unreadable as error:
        raise Misconfigured([f"{where}: {error}"]) from None


def _is_of(hint: Any, given: object) -> bool:
    if get_origin(hint) is Literal:
        return given in get_args(hint)
    if hint is float:
        return type(given) in (int, float)
    if hint is Path:
        return isinstance(given, str) and given != ""
    return type(given) is hint  # not isinstance: a truth is no number


def _wanted(hint: Any) -> str:
    """Completes "must be …"."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        _wanted(parts[0])
        return " and ".join(must.be for must in parts[1:])
    if origin is Literal:
        return " or ".join(f'"{each}"' for each in parts)
    if origin in UNIONS:
        return _wanted(_but_none(parts))
    if origin is tuple and parts[1:] == (...,):
        return f"a list, each {_wanted(parts[0])}"
    if hint in PLAIN:
        return PLAIN[hint]
    if dataclasses.is_dataclass(hint):
        return f"a table of {', '.join(each.name for each in describe(hint))}"
    raise TypeError(f"its configuration has a field of type {hint}, which no file can have")


def _but_none(parts: Sequence[Any]) -> Any:
    """What `X | None` may be besides None."""
    others = [part for part in parts if part is not types.NoneType]
    if len(others) != 1:
        raise TypeError("its configuration has a field of two types, which no file can tell apart")
    return others[0]


def _is_required(each: "dataclasses.Field[Any]") -> bool:
    return each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
