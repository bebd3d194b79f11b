"""Which tables the SQL in our source touches, and from where."""

import ast
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NAME: Final = r"[a-z_]+"
# A list of tables, each with its alias: `FROM fleet_nodes n, sites`.
LISTED: Final = rf"({NAME}(?:\s+(?:AS\s+)?{NAME})?(?:\s*,\s*{NAME}(?:\s+(?:AS\s+)?{NAME})?)*)"
TOUCHES: Final = re.compile(
    rf"\b(DELETE FROM|FROM|JOIN|INTO|UPDATE|TRUNCATE)\s+(?:ONLY\s+)?{LISTED}"
)
READS: Final = frozenset({"FROM", "JOIN"})
GAP: Final = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+\"?\{\}")


@dataclass(frozen=True)
class Touch:
    noun: str  # a folder; a file, where files are beside folders: `central.fleet`, `kernel.feed`
    place: str
    table: str
    writes: bool


def touches(penstock: Path, plane: str, tables: Set[str]) -> list[Touch]:
    """In a plane and in the kernel, which both planes have."""
    return [
        Touch(_noun(file), f"{file}:{line}", *touched)
        for file, line, text in _texts(penstock, plane)
        for touched in _touched(text, tables)
    ]


def unnamed(penstock: Path, plane: str) -> set[str]:
    """Files that put the name of a table into SQL, so that nobody can read which it is."""
    return {str(file) for file, _, text in _texts(penstock, plane) if GAP.search(text)}


def _texts(penstock: Path, plane: str) -> Iterator[tuple[Path, int, str]]:
    for part in (plane, "kernel"):
        for file in sorted((penstock / part).rglob("*.py")):
            for line, text in _literals(ast.parse(file.read_text())):
                yield file.relative_to(penstock), line, text


def _noun(file: Path) -> str:
    """Folders of a plane hold a noun each; what is beside them is one by itself."""
    beside = len(file.parts) == 2
    return ".".join(file.with_suffix("").parts if beside else file.parent.parts)


def _literals(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Each text with its line. What is put into an f-string is a gap: it is a text of its own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(_part(value) for value in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _part(value: ast.expr) -> str:
    return str(value.value) if isinstance(value, ast.Constant) else "{}"


def _touched(text: str, tables: Set[str]) -> Iterator[tuple[str, bool]]:
    for verb, listed in TOUCHES.findall(text):
        for named in listed.split(","):
            if (table := named.split()[0]) in tables:
                yield table, verb not in READS
