"""`penstock project`: what allocations and their cost are grouped by."""

from typing import Final

from cyclopts import App

from penstock_client import answers, session
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import aged, column

app = App(name="project", help="Projects: what a tenant's allocations and costs are grouped by.")

COLUMNS: Final = (
    column("ID", "id"),
    column("NAME", "name"),
    column("TENANT", "tenant"),
    column("ORGANIZATION", "organization"),
    aged("CREATED", "created_at"),
)


@app.command
def ls(*, options: Options = UNSET) -> None:
    """List projects."""
    with session.start(options) as run:
        page = run.client.projects.list()
    answers.listing(options, page, COLUMNS, empty="no projects yet: `penstock project create NAME`")


@app.command
def show(id: str, /, *, options: Options = UNSET) -> None:
    """Show one project."""
    with session.start(options) as run:
        answers.thing(options, run.client.projects.get(id))


@app.command
def create(
    name: str,
    /,
    *,
    tenant: str | None = None,
    organization: str | None = None,
    options: Changing = UNSAID,
) -> None:
    """Create a project.

    Parameters
    ----------
    tenant
        Whose project it is; your own tenant if left out.
    organization
        Which part of the tenant it belongs to; `default` if left out.
    """
    with session.start(options) as run:
        made = run.client.projects.create(name, tenant=tenant, organization=organization)
    answers.thing(options, made, next="penstock sku ls")
