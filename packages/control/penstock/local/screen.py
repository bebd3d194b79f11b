"""What `penstock up` shows: steps with their times, the children's words, a live line."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from penstock.local import logline
from penstock_client import screen as client_screen
from penstock_client import words

STYLES: Final = {"postgres": "blue", "central": "cyan", "site": "green", "agents": "magenta"}
NAME_WIDTH: Final = 9
STEP_WIDTH: Final = 44


class Step:
    """A step that is under way; `title` may change while it is."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.started = time.monotonic()

    def took(self) -> str:
        return f"{time.monotonic() - self.started:.1f} s"

    def __rich__(self) -> RenderableType:
        return Text.assemble(
            ("  … ", "yellow"), f"{self.title:<{STEP_WIDTH}} ", (self.took(), "dim")
        )


class Screen:
    def __init__(self, console: Console, *, verbose: bool) -> None:
        self.console = console
        self.verbose = verbose

    @property
    def is_terminal(self) -> bool:
        return self.console.is_terminal

    def line(self, text: str = "", style: str = "") -> None:
        """Our own words; what is in them from elsewhere cannot steer the terminal."""
        for part in text.split("\n"):
            self.console.print(Text(words.safe(part), style=style), soft_wrap=True)

    def complain(self, text: str) -> None:
        """Why it cannot go on; for people and scripts alike this is on stderr."""
        client_screen.note(text)

    def show(self, what: RenderableType) -> None:
        self.console.print(what)

    @contextmanager
    def step(self, title: str) -> Generator[Step]:
        step = Step(title)
        with self.live(step):
            yield step
        mark = ("  ✓ ", "green") if self.is_terminal else "  "
        done = Text.assemble(mark, f"{step.title:<{STEP_WIDTH}} ", (step.took(), "dim"))
        self.console.print(done)

    @contextmanager
    def live(self, what: RenderableType) -> Generator[None]:
        """Keep `what` at the bottom and up to date; nothing where there is no terminal."""
        if not self.is_terminal:
            yield
            return
        with Live(what, console=self.console, refresh_per_second=8, transient=True):
            yield

    def wrote(self, child: str, line: str) -> None:
        """A line that a child logged."""
        if self.verbose:
            self._child(child, logline.readable(line))

    def told(self, child: str, line: str) -> None:
        """Something that became of a child, which people should always see."""
        for part in line.split("\n"):
            self._child(child, part, "yellow")

    def _child(self, child: str, line: str, style: str = "") -> None:
        name = (f"{child:<{NAME_WIDTH}}", STYLES.get(child, "white"))
        self.console.print(
            Text.assemble(name, " ", (words.safe(line), style)), soft_wrap=True, crop=False
        )
