"""`penstock group`: people and programs that have roles together."""

from typing import Final

from cyclopts import App

from penstock_client import answers, session
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import aged, column

app = App(name="group", help="Groups: people and programs that have roles together.")

COLUMNS: Final = (
    column("ID", "id"),
    column("NAME", "name"),
    column("TENANT", "tenant"),
    aged("CREATED", "created_at"),
)


@app.command
def ls(*, options: Options = UNSET) -> None:
    """List groups."""
    with session.start(options) as run:
        page = run.client.groups.list()
    answers.listing(options, page, COLUMNS, empty="no groups yet: `penstock group create NAME`")


@app.command
def show(id: str, /, *, options: Options = UNSET) -> None:
    """Show one group, and who is in it."""
    with session.start(options) as run:
        answers.thing(options, run.client.groups.get(id))


@app.command
def create(name: str, /, *, tenant: str | None = None, options: Changing = UNSAID) -> None:
    """Create a group.

    Parameters
    ----------
    tenant
        Whose group it is; your own tenant's if left out.
    """
    with session.start(options) as run:
        made = run.client.groups.create(name, tenant=tenant)
    answers.thing(options, made, next=f"penstock group add {made['id']} USER")


@app.command
def rm(id: str, /, *, options: Changing = UNSAID) -> None:
    """Delete a group, with the roles that were bound to it. Shows what it was."""
    with session.start(options) as run:
        answers.thing(options, run.client.groups.delete(id))


@app.command
def add(id: str, member: str, /, *, options: Changing = UNSAID) -> None:
    """Put a user or a service account into a group: they have its roles from now on."""
    with session.start(options) as run:
        answers.thing(options, run.client.groups.add(id, member))


@app.command
def remove(id: str, member: str, /, *, options: Changing = UNSAID) -> None:
    """Take a user or a service account out of a group."""
    with session.start(options) as run:
        answers.thing(options, run.client.groups.remove(id, member))
