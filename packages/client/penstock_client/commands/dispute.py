"""`penstock dispute`: times of usage that a site reported and that cannot be."""

from typing import Final

from cyclopts import App

from penstock_client import answers, session
from penstock_client.options import UNSET, Options
from penstock_client.screen import column

app = App(name="dispute", help="Disputes: times that a site reported and that cannot be.")

COLUMNS: Final = (
    column("ID", "id"),
    column("ALLOCATION", "allocation"),
    column("SITE", "site"),
    column("EDGE", "edge"),
    column("REPORTED", "reported_at"),
    column("COUNTS", "counted_at"),
    column("SETTLED", "settled_at"),
)


@app.command
def ls(*, all: bool = False, options: Options = UNSET) -> None:
    """List the disputes that are open.

    Parameters
    ----------
    all
        Those that are settled too.
    """
    with session.start(options) as run:
        page = run.client.disputes.list(settled=None if all else False)
    answers.listing(options, page, COLUMNS, empty="no time is disputed")


@app.command
def show(id: str, /, *, options: Options = UNSET) -> None:
    """Show what the site said, what could be, and what counts."""
    with session.start(options) as run:
        answers.thing(options, run.client.disputes.get(id))


@app.command
def settle(id: str, /, *, reason: str, at: str | None = None, options: Options = UNSET) -> None:
    """Decide which time counts. The usage, its cost and a prepaid balance follow.

    Parameters
    ----------
    reason
        Why; the audit log and the tenant see it.
    at
        A time within what could be, as 2026-11-18T12:00:00Z; without it, what counts now stays.
    """
    with session.start(options) as run:
        answers.thing(options, run.client.disputes.settle(id, reason=reason, at=at))
