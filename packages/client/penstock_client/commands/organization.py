"""`penstock organization`: the parts of a tenant."""

from typing import Final

from cyclopts import App

from penstock_client import answers, session
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import aged, column

app = App(
    name="organization", help="Organizations: the parts of a tenant, which projects belong to."
)

COLUMNS: Final = (
    column("ID", "id"),
    column("NAME", "name"),
    column("TENANT", "tenant"),
    aged("CREATED", "created_at"),
)


@app.command
def ls(*, options: Options = UNSET) -> None:
    """List organizations."""
    with session.start(options) as run:
        page = run.client.organizations.list()
    answers.listing(
        options,
        page,
        COLUMNS,
        empty="no organizations yet: they come with `penstock tenant create`",
    )


@app.command
def show(id: str, /, *, options: Options = UNSET) -> None:
    """Show one organization, by id or name."""
    with session.start(options) as run:
        answers.thing(options, run.client.organizations.get(id))


@app.command
def create(name: str, /, *, tenant: str | None = None, options: Changing = UNSAID) -> None:
    """Create an organization.

    Parameters
    ----------
    tenant
        Whose organization it is; your own tenant if left out.
    """
    with session.start(options) as run:
        made = run.client.organizations.create(name, tenant=tenant)
    answers.thing(options, made, next=f"penstock project create NAME --organization {made['id']}")
