"""`penstock key`: your own API keys, for scripts."""

from typing import Annotated, Final

from cyclopts import App, Parameter

from penstock_client import answers, session
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import aged, column
from penstock_client.views.people import Scope

app = App(name="key", help="Keys: your own API keys, within scopes, until a day.")

COLUMNS: Final = (
    column("ID", "id"),
    column("NAME", "name"),
    column("ROLE", "role"),
    column("SCOPES", "scopes"),
    column("CLIENT", "client"),
    aged("CREATED", "created_at"),
    aged("EXPIRES", "expires_at"),
    aged("REVOKED", "revoked_at"),
)


@app.command
def ls(*, options: Options = UNSET) -> None:
    """List your own keys; as an admin, all of your tenant's."""
    with session.start(options) as run:
        page = run.client.keys.list()
    answers.listing(options, page, COLUMNS, empty="no keys yet: `penstock key create NAME`")


@app.command
def create(
    name: str,
    /,
    *,
    scope: Annotated[list[Scope] | None, Parameter(consume_multiple=True, negative=())] = None,
    days: int = 90,
    options: Changing = UNSAID,
) -> None:
    """Create a key for yourself. Its token is shown once.

    Parameters
    ----------
    scope
        What it may be used for, each including those before: read, use (the default), administer.
    days
        How long it lasts, at most 365.
    """
    scopes: list[Scope] = scope or ["use"]
    with session.start(options) as run:
        made = run.client.keys.create(name, scopes=scopes, days=days)
    note = f"key {made['id']}, until {made['expires_at']}; its token is shown this once:"
    answers.secret(options, made, made["token"], note=note)


@app.command
def revoke(id: str, /, *, options: Changing = UNSAID) -> None:
    """End a key."""
    with session.start(options) as run:
        answers.thing(options, run.client.keys.revoke(id))
