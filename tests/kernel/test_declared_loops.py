"""Background work is declared: nothing is started beside it, each has a sentence, docs list all."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PENSTOCK: Final = ROOT / "packages/control/penstock"
APPS: Final = (PENSTOCK / "central/app.py", PENSTOCK / "site/app.py")
STARTS: Final = {"create_task", "ensure_future", "Thread", "to_thread", "run_in_executor"}
ROW: Final = re.compile(r"^\| `([^`]+)` \| (central|site|both) \| (.+?) \| (.+?) \|$", re.MULTILINE)


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Each call, with the last part of the name that it calls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    yield name, node
                case _:
                    pass


def started(source: str) -> list[str]:
    return [
        f"line {call.lineno}: {name}" for name, call in calls(ast.parse(source)) if name in STARTS
    ]


def text(call: ast.Call, position: int) -> str:
    """The argument there, if it is text; a loop is given its first two as such."""
    match call.args[position : position + 1]:
        case [ast.Constant(value=str(said))]:
            return said
        case _:
            return ""


def declared(source: str) -> list[tuple[str, str, bool]]:
    """Name, sentence and whether it runs alone, of each loop that is made there."""
    return [
        (text(call, 0), text(call, 1), any(name == "Alone" for name, _ in calls(call)))
        for name, call in calls(ast.parse(source))
        if name == "Loop"
    ]


def lacking(source: str) -> list[str]:
    return [
        f"{name!r}: {sentence!r}"
        for name, sentence, _ in declared(source)
        if not re.fullmatch(r"[a-z][a-z ]*", name) or not re.fullmatch(r"[A-Z].{15,}\.", sentence)
    ]


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.parent.name)
def test_an_app_starts_nothing_beside_its_loops(app: Path) -> None:
    assert started(app.read_text()) == []


def test_every_loop_has_a_name_and_a_sentence() -> None:
    found = {path: lacking(path.read_text()) for path in sorted(PENSTOCK.rglob("*.py"))}
    assert {str(path): loops for path, loops in found.items() if loops} == {}


def test_the_checks_see_what_they_are_for() -> None:
    assert started("async def serve(group):\n    group.create_task(work())") == [
        "line 2: create_task"
    ]
    assert lacking("Loop('sweeping', '', work)") == ["'sweeping': ''"]
    assert lacking("loops.Loop('sweeping', SENTENCE, work)") == ["'sweeping': ''"]
    assert lacking("Loop('sweeping', 'Deletes what ran out.', work)") == []


def test_the_table_in_the_architecture_lists_every_loop() -> None:
    """With the plane it is part of (the kernel's are of whichever starts them), its sentence, and
    who runs it."""
    listed = {
        (name, sentence, "one" in who): where
        for name, where, sentence, who in ROW.findall((ROOT / "ARCHITECTURE.md").read_text())
    }
    made = {
        loop: path.relative_to(PENSTOCK).parts[0]
        for path in PENSTOCK.rglob("*.py")
        for loop in declared(path.read_text())
    }
    assert set(listed) == set(made)
    assert {loop: listed[loop] for loop, where in made.items() if where != "kernel"} == {
        loop: where for loop, where in made.items() if where != "kernel"
    }
