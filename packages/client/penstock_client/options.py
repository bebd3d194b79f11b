"""The options that every command takes."""

from dataclasses import dataclass
from typing import Annotated, Final

from cyclopts import Group, Parameter

SHARED: Final = Group("Shared options", sort_key=100)


@Parameter(name="*", group=SHARED)
@dataclass(frozen=True)
class Options:
    json: Annotated[bool, Parameter(negative=())] = False
    """Print the API's JSON."""
    context: str | None = None
    """Use this context instead of the current one."""
    curl: Annotated[bool, Parameter(negative=())] = False
    """Print the curl command that does the same, and do nothing."""


@Parameter(name="*", group=SHARED)
@dataclass(frozen=True)
class Changing(Options):
    """Of a command that changes something, and asks for no reason itself."""

    reason: str | None = None
    """Why; kept in the audit log."""


# Several values after one option: `--tags eu country:de`.
Several = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative=())]

UNSET: Final = Options()
UNSAID: Final = Changing()
