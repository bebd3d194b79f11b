"""`penstock session`: where people are signed in."""

from typing import Final

from cyclopts import App

from penstock_client import answers, session
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import aged, column

app = App(name="session", help="Sessions: where people are signed in.")

COLUMNS: Final = (
    column("ID", "id"),
    column("USER", "user"),
    column("KIND", "kind"),
    column("CLIENT", "client"),
    column("FACTORS", "factors"),
    aged("SINCE", "created_at"),
    aged("SEEN", "seen_at"),
)


@app.command
def ls(*, options: Options = UNSET) -> None:
    """List your own sessions; as an admin, all of your tenant's."""
    with session.start(options) as run:
        page = run.client.sessions.list()
    answers.listing(options, page, COLUMNS, empty="nobody is signed in")


@app.command
def revoke(id: str, /, *, options: Changing = UNSAID) -> None:
    """End a session, and with it every token that was issued for it."""
    with session.start(options) as run:
        answers.thing(options, run.client.sessions.revoke(id))
