"""The server's own commands, found through entry points. None is imported before it is run."""

from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from penstock_client import errors

GROUP: Final = "penstock.commands"
SUMMARIES: Final = {
    "up": "Start everything on this machine: database, central, a site and its nodes.",
    "central": "Run a central control plane.",
    "site": "Run a site's control plane (also: penstock site run).",
}

OF_A_SITE: Final = ("run", "workflow")  # verbs of the process, not of the API's noun


def is_asked(name: str, rest: Sequence[str]) -> bool:
    """Whether these arguments are for a process. `site` is a noun too: its verbs decide."""
    if name != "site":
        return name in SUMMARIES
    if not rest or rest[0] in OF_A_SITE:
        return True
    return rest[0] not in ("-h", "--help") and rest[0][:1] == "-"


def find(name: str) -> EntryPoint | None:
    return next(iter(entry_points(group=GROUP, name=name)), None)


def run(name: str, rest: Sequence[str]) -> int:
    """Import the process and run it to its end."""
    entry = find(name)
    if entry is None:
        raise errors.Misused(
            f"`penstock {name}` is part of penstock-control, which is not installed here"
        )
    from cyclopts import App

    command: object = entry.load()
    root = App(name="penstock", result_action="return_value")
    if not callable(command):
        raise errors.Misused(f"entry point {entry.value!r} is not a command")
    root.command(command, name=name)
    rest = rest[1:] if rest[:1] == ["run"] else rest
    result: object = root([name, *rest])
    return result if isinstance(result, int) else errors.OK
