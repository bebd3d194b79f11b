"""Every call of `events.emit` in the planes, read from the source."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CONTROL = Path(__file__).parents[2] / "packages" / "control" / "penstock"


@dataclass(frozen=True)
class Emission:
    """One type that one call may emit. `types` are none if the source does not tell them."""

    place: str
    types: tuple[str, ...]
    fields: frozenset[str]
    more: bool  # it has fields besides, from a mapping


def of(plane: str) -> list[Emission]:
    """All of a plane, in order of their files."""
    return [
        emission
        for path in sorted((CONTROL / plane).rglob("*.py"))
        for emission in read(path.read_text(), str(path.relative_to(CONTROL)))
    ]


def read(source: str, place: str) -> Iterator[Emission]:
    tree = ast.parse(source)
    tables = _tables(tree)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            local = _assigned(function)
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "events.emit":
                    yield _emission(call, f"{place}:{call.lineno}", {**tables, **local})


def _emission(call: ast.Call, place: str, known: dict[str, ast.expr]) -> Emission:
    names = {keyword.arg for keyword in call.keywords}
    fields = frozenset(name for name in names if name is not None and name != "tenant_id")
    return Emission(place, _types(call.args[1], known), fields, None in names)


def _types(said: ast.expr, known: dict[str, ast.expr]) -> tuple[str, ...]:
    """A literal, one of two, an entry of a table of literals, or a name for one of these."""
    match said:
        case ast.Constant(value=str(type)):
            return (type,)
        case ast.IfExp(body=one, orelse=other):
            return (*_types(one, known), *_types(other, known))
        case ast.Subscript(value=ast.Name(id=table)) if isinstance(known.get(table), ast.Dict):
            return _types(known[table], known)
        case ast.Dict(values=values):
            return tuple(type for value in values for type in _types(value, known))
        case ast.Name(id=name) if name in known:
            return _types(known[name], {})
        case _:
            return ()


def _tables(tree: ast.Module) -> dict[str, ast.expr]:
    """What the module's own names stand for, if they are given a value once and for all."""
    return dict(_values(tree.body))


def _assigned(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, ast.expr]:
    return dict(_values(node for node in ast.walk(function) if isinstance(node, ast.stmt)))


def _values(statements: "Iterator[ast.stmt] | list[ast.stmt]") -> Iterator[tuple[str, ast.expr]]:
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case _:
                pass


def declared_in(emission: Emission, type: str) -> str:
    """The file for the event's declaration: where its noun's others are, or beside its emission."""
    noun = type.partition(".")[0]
    for path in sorted(CONTROL.rglob("events.py")):
        if f'"{noun}.' in path.read_text():
            return str(path.relative_to(CONTROL))
    return str(Path(emission.place).with_name("events.py"))


def appended_past_the_check() -> list[str]:
    """Where an event is put into a transaction without `events.emit`."""
    return [
        f"{path.relative_to(CONTROL)}:{at}"
        for path in sorted(CONTROL.rglob("*.py"))
        if path.relative_to(CONTROL).as_posix() not in ("kernel/events.py", "kernel/outgoing.py")
        for at, line in enumerate(path.read_text().splitlines(), start=1)
        if "outgoing.events" in line
        or "outgoing.Event(" in line
        or ("penstock.kernel.outgoing import" in line and "Event" in line.split("import")[1])
    ]


def opened_unchecked() -> list[str]:
    """Where a plane opens its database without its catalogue."""
    return [
        f"{path.relative_to(CONTROL)}:{call.lineno}"
        for path in sorted(CONTROL.rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "db.connect"
        if "catalogue" not in {keyword.arg for keyword in call.keywords}
    ]
