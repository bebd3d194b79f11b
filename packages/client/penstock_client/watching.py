"""Following something to where it was meant to go, step by step."""

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol, TextIO, TypeVar

from penstock_client import screen, words
from penstock_client.resources.events import Events
from penstock_client.views.events import Event
from penstock_client.views.pages import Page

T = TypeVar("T", bound=Mapping[str, object])
Seen = TypeVar("Seen", bound=Mapping[str, object], covariant=True)


@dataclass(frozen=True)
class Journey:
    """`begins` is the event to tell from; any status in `ends` is the end."""

    begins: str
    goal: str
    ends: frozenset[str]


CREATION: Final = Journey(
    "allocation.placed",
    "active",
    frozenset(
        {"active", "failed", "releasing", "released", "cleanup_blocked", "abandoned", "expired"}
    ),
)
RELEASE: Final = Journey(
    "allocation.releasing",
    "released",
    frozenset({"released", "failed", "cleanup_blocked", "abandoned", "expired"}),
)


ONBOARDING: Final = Journey("onboarding.created", "done", frozenset({"done", "undone"}))
OFFBOARDING: Final = Journey("tenant.offboarding", "offboarded", frozenset({"offboarded"}))


class Noun(Protocol[Seen]):
    """Something that has a status and a past."""

    def get(self, id: str) -> Seen: ...

    def timeline(self, id: str) -> Page[Event]: ...


def follow(
    events: Events,
    noun: Noun[T],
    id: str,
    journey: Journey,
    tell: Callable[[Event], None],
    *,
    tenant: bool = False,
) -> T:
    """What became of it. Told by events: nothing is asked on a timer.

    The timeline is read first and the stream resumes after its last event, so what
    happens between the two is neither missed nor told twice. `tenant` says that it is one:
    what happens to its allocations is told too.
    """
    past = noun.timeline(id)["items"]
    begun = since(past, journey.begins)
    for event in begun:
        tell(event)
    seen = place(begun[0] if tenant else past[-1]) if past else 0
    told = place(past[-1]) if past else 0
    thing = noun.get(id)
    stream = events.watch(subject=None if tenant else id, after=str(seen))
    while thing["status"] not in journey.ends:
        event = next(stream)
        if place(event) <= told and event["subject"] == id:
            continue  # the timeline had it
        if tenant and event["tenantid"] != id:
            continue
        tell(event)
        told = max(told, place(event))
        if event["subject"] == id:
            thing = noun.get(id)
    for event in noun.timeline(id)["items"]:  # it may have ended before its last event was told
        if place(event) > told:
            tell(event)
    return thing


def place(event: Event) -> int:
    return int(event["sequence"])


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
        said = (data.get(name) for name in ("reason", "detail", "observed", "status"))
        reason = next(filter(None, said), None)
        return words.plain(event.get("type")) + (f": {words.plain(reason)}" if reason else "")
    step = ".".join(words.plain(data[key]) for key in ("workflow", "step") if data.get(key))
    detail = data.get("detail")
    shown = f"{step} {words.plain(data.get('status'))}"
    return shown + (f": {words.plain(detail)}" if detail else "")


def stream_for(*, as_json: bool) -> TextIO:
    """Steps are the answer for people; beside JSON they are only company."""
    return sys.stderr if as_json else sys.stdout
