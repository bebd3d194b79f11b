"""`penstock platform`: the platform itself."""

from typing import Final

from cyclopts import App

from penstock_client import answers, errors, screen, session, words
from penstock_client.options import UNSET, Options
from penstock_client.screen import Column, aged, column
from penstock_client.words import Row

app = App(name="platform", help="The platform itself: the background work of its processes.")


def took(row: Row) -> str:
    seconds = row.get("last_seconds")
    return f"{seconds:.3f}s" if isinstance(seconds, int | float) else words.NONE


COLUMNS: Final = (
    column("LOOP", "name"),
    column("OUTCOME", "outcome"),
    column("RUNNING", "running"),
    aged("BEGAN", "last_began_at"),
    Column("TOOK", took, right=True),
    column("RUNS", "runs", right=True),
    column("FAILURES", "failures", right=True),
    column("WHAT IT DOES", "description"),
)


@app.command
def loops(*, options: Options = UNSET) -> int:
    """List the loops of the replica that answers. Exits with 1 if the last run of any failed."""
    with session.start(options) as run:
        page = run.client.loops()
    answers.listing(options, page, COLUMNS, empty="the API lists no loops")
    failed = [each for each in page["items"] if each["outcome"] == "failed"]
    if not options.json:
        for each in failed:
            screen.note(f"{each['name']} of {each['replica']}: {words.plain(each['error'])}")
    return errors.REFUSED if failed else errors.OK
