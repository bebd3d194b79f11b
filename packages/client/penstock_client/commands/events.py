"""`penstock events`: what happened, in order."""

import json
import sys
from collections.abc import Iterator
from itertools import islice

from cyclopts import App

from penstock_client import screen, session, words
from penstock_client.options import UNSET, Options
from penstock_client.views.events import Event

app = App(name="events", help="Events: what happened, in order, and what happens now.")


@app.default
def events(
    *,
    follow: bool = False,
    subject: str | None = None,
    after: str | None = None,
    limit: int | None = None,
    options: Options = UNSET,
) -> None:
    """Print events: those there are, or with --follow those to come. --json prints JSON lines.

    Parameters
    ----------
    follow
        Go on with what happens from now, until interrupted.
    subject
        Only what happened to this thing, by its id.
    after
        Begin after the event with this sequence number.
    limit
        Stop after this many.
    """
    with session.start(options) as run:
        log = run.client.events
        if follow:
            stream = log.watch(subject=subject, after=after)
        else:
            stream = log.list(subject=subject, after=after or "0")
        for event in islice(stream, limit):
            tell(event, as_json=options.json)


def tell(event: Event, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(event).replace("\x7f", "\\u007f") + "\n")
    else:
        screen.line("  ".join(parts(event)))
    sys.stdout.flush()  # a reader in a pipe sees each event as it happens


def parts(event: Event) -> Iterator[str]:
    yield f"{words.plain(event.get('sequence')):>6}"
    yield words.plain(event.get("time"))
    yield f"{words.plain(event.get('type')):<24}"
    yield words.plain(event.get("subject"))
    yield words.plain(event.get("data"))
