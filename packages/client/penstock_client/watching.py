"""Following an allocation to where it was meant to go, step by step."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TextIO

from penstock_client import screen, words
from penstock_client.api import Client
from penstock_client.views import Allocation, Event


@dataclass(frozen=True)
class Journey:
    """`begins` is the event to tell from; any status in `ends` is the end."""

    begins: str
    goal: str
    ends: frozenset[str]


CREATION: Final = Journey(
    "allocation.placed",
    "active",
    frozenset({"active", "failed", "releasing", "released", "cleanup_blocked", "expired"}),
)
RELEASE: Final = Journey(
    "allocation.releasing",
    "released",
    frozenset({"released", "failed", "cleanup_blocked", "expired"}),
)


def follow(client: Client, id: str, journey: Journey, tell: Callable[[Event], None]) -> Allocation:
    """What became of the allocation. Told by events: nothing is asked on a timer.

    The timeline is read first and the stream resumes after its last event, so what
    happens between the two is neither missed nor told twice.
    """
    past = client.allocations.timeline(id)["items"]
    for event in since(past, journey.begins):
        tell(event)
    allocation = client.allocations.get(id)
    if allocation["status"] in journey.ends:
        return allocation
    seen = str(past[-1]["sequence"]) if past else "0"
    for event in client.events.watch(subject=id, after=seen):
        tell(event)
        allocation = client.allocations.get(id)
        if allocation["status"] in journey.ends:
            break
    return allocation


def since(past: list[Event], begins: str) -> list[Event]:
    """From the last event of that type on; everything if there is none."""
    starts = [index for index, event in enumerate(past) if event["type"] == begins]
    return past[starts[-1] if starts else 0 :]


@contextmanager
def teller(stream: TextIO) -> Generator[Callable[[Event], None]]:
    """Prints each event as a line; on a terminal, with a sign that more is to come."""
    clock = Clock()
    if not stream.isatty():
        yield lambda event: screen.line(clock.line(event), stream)
        return
    terminal = screen.console(stream)
    with terminal.status("waiting for what comes next"):
        yield lambda event: terminal.print(clock.line(event))


class Clock:
    """Tells times as seconds since the first event."""

    def __init__(self) -> None:
        self.began: datetime | None = None

    def line(self, event: Event) -> str:
        at = words.instant(event.get("time"))
        self.began = self.began or at
        passed = (at - self.began).total_seconds() if at and self.began else 0.0
        return f"{passed:+7.2f}s  {describe(event)}"


def describe(event: Event) -> str:
    """The step and how it went; for other events, what happened."""
    data = event.get("data") or {}
    if "step" not in data:
        reason = data.get("reason") or data.get("detail") or data.get("observed")
        return words.plain(event.get("type")) + (f": {words.plain(reason)}" if reason else "")
    step = ".".join(words.plain(data[key]) for key in ("workflow", "step") if data.get(key))
    detail = data.get("detail")
    shown = f"{step} {words.plain(data.get('status'))}"
    return shown + (f": {words.plain(detail)}" if detail else "")


def stream_for(*, as_json: bool) -> TextIO:
    """Steps are the answer for people; beside JSON they are only company."""
    return sys.stderr if as_json else sys.stdout
