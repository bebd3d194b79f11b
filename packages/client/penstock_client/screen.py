"""What is written to the terminal. Answers go to stdout, everything else to stderr."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO, cast

from penstock_client import streams, words
from penstock_client.words import Row

if TYPE_CHECKING:  # rich costs a tenth of a second, which --json and --curl need not pay
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

PIPE_WIDTH: Final = 2_000  # a file has no width; nothing in it may be cut or wrapped
STYLES: Final = {
    **dict.fromkeys(("active", "approved", "connected", "fully_available", "done"), "green"),
    **dict.fromkeys(
        ("queued", "placed", "releasing", "cleaning", "proposed", "draining", "suspended"), "yellow"
    ),
    **dict.fromkeys(
        ("failed", "cleanup_blocked", "abandoned", "expired", "unavailable", "undone"), "red"
    ),
    **dict.fromkeys(("released", words.NONE), "dim"),
}


@dataclass(frozen=True)
class Column:
    title: str
    show: Callable[[Row], str]
    right: bool = False


def column(title: str, key: str, *, right: bool = False) -> Column:
    return Column(title, lambda row: words.plain(row.get(key)), right)


def aged(title: str, key: str) -> Column:
    return Column(title, lambda row: words.age(row.get(key)))


def console(stream: TextIO | None = None) -> "Console":
    from rich.console import Console

    target: TextIO = stream or sys.stdout
    width = None if target.isatty() else PIPE_WIDTH
    return Console(file=target, width=width, markup=False, highlight=False, emoji=False)


def document(value: object) -> None:
    """The API's JSON, with nothing in it that a terminal would obey."""
    text = json.dumps(value, indent=2, ensure_ascii=True).replace("\x7f", "\\u007f")
    sys.stdout.write(f"{text}\n")


def line(text: str, stream: TextIO | None = None) -> None:
    """One line; only its author's own newlines break it."""
    (stream or sys.stdout).write(f"{safe_lines(text)}\n")


def safe_lines(text: str) -> str:
    return "\n".join(words.safe(part) for part in text.split("\n"))


def note(text: str) -> None:
    """Something for people, which must not end in a pipe."""
    streams.tell(safe_lines(text))


def table(columns: Sequence[Column], rows: Iterable[Row], stream: TextIO | None = None) -> None:
    grid = _grid()
    for each in columns:
        grid.add_column(each.title, justify="right" if each.right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(_cell(each.show(row)) for each in columns))
    console(stream).print(grid)


def card(row: Row, *, leave: Sequence[str] = ()) -> None:
    """Everything about one thing, a field on each line."""
    grid = _grid(header=False)
    for key in row:
        if key not in leave:
            grid.add_row(_cell(words.label(key), "bold"), _cell(words.field(key, row)))
    console().print(grid)


def outline(value: object, stream: TextIO | None = None) -> None:
    """Data whose shape the server chooses: lists of things as tables, the rest as lines."""
    if isinstance(value, Mapping):
        fields = cast("Row", value)
        for key in fields:
            _section(key, fields[key], stream)
    elif things := _things(value):
        keys = list(dict.fromkeys(key for thing in things for key in thing))
        table([column(words.label(key), key) for key in keys], things, stream)
    else:
        line(words.plain(value), stream)


def _section(key: str, value: object, stream: TextIO | None) -> None:
    if things := _things(value) or _counts(value):
        line(f"{words.label(key)}:", stream)
        outline(things, stream)
    else:
        line(f"{words.label(key)}: {words.plain(value)}", stream)


def _things(value: object) -> list[Row]:
    """The value, if it is a list of mappings."""
    if not isinstance(value, list):
        return []
    items = cast("list[object]", value)
    return [cast("Row", item) for item in items if isinstance(item, Mapping)]


def _counts(value: object) -> list[Row]:
    """The value, if it is a mapping of names to numbers, as a list of mappings."""
    if not isinstance(value, Mapping):
        return []
    fields = cast("Row", value)
    if not all(isinstance(each, int | float) for each in fields.values()):
        return []
    return [{"name": key, "count": fields[key]} for key in fields]


def _grid(*, header: bool = True) -> "Table":
    from rich.table import Table

    return Table(box=None, show_header=header, pad_edge=False, header_style="bold")


def _cell(text: str, style: str = "") -> "Text":
    from rich.text import Text

    return Text(text, style=style or STYLES.get(text, ""))
