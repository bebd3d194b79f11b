"""`penstock completion SHELL`: a script that completes nouns, verbs and options."""

import importlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, cast

from penstock_client import errors

if TYPE_CHECKING:
    from cyclopts import App

Shell = Literal["bash", "zsh", "fish"]
SHELLS: Final[Mapping[str, Shell]] = {"bash": "bash", "zsh": "zsh", "fish": "fish"}


def run(nouns: Iterable[str], rest: Sequence[str]) -> int:
    shell = SHELLS.get(rest[0]) if len(rest) == 1 else None
    if shell is None:
        raise errors.Misused(f"say for which shell: penstock completion {'|'.join(SHELLS)}")
    from cyclopts import App

    root = App(name="penstock")
    for noun in nouns:
        root.command(load(noun))
    sys.stdout.write(root.generate_completion(shell=shell))
    return errors.OK


def load(noun: str) -> "App":
    """The commands of one noun."""
    module = noun.replace("-", "_")
    return cast("App", importlib.import_module(f"penstock_client.commands.{module}").app)
