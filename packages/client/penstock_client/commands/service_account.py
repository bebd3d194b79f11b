"""`penstock service-account`: programs, and the keys they call with."""

from typing import Final

from cyclopts import App

from penstock_client import answers, session
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import aged, column

app = App(name="service-account", help="Service accounts: programs, and the keys they call with.")

COLUMNS: Final = (
    column("ID", "id"),
    column("NAME", "name"),
    column("TENANT", "tenant"),
    column("STATUS", "status"),
    aged("CREATED", "created_at"),
)


@app.command
def ls(*, options: Options = UNSET) -> None:
    """List service accounts."""
    with session.start(options) as run:
        page = run.client.service_accounts.list()
    answers.listing(
        options, page, COLUMNS, empty="none yet: `penstock service-account create NAME`"
    )


@app.command
def create(name: str, /, *, tenant: str | None = None, options: Changing = UNSAID) -> None:
    """Create a service account. It may do nothing until a role is bound to it.

    Parameters
    ----------
    tenant
        Whose it is; your own tenant's if left out.
    """
    with session.start(options) as run:
        made = run.client.service_accounts.create(name, tenant=tenant)
    answers.thing(options, made, next=f"penstock role bind {made['id']} member --project NAME")


@app.command(name="create-key")
def create_key(
    id: str, name: str, /, *, days: int | None = None, options: Changing = UNSAID
) -> None:
    """Create a key for it. Its token is shown once.

    Parameters
    ----------
    days
        How long it lasts; until it is revoked if left out.
    """
    with session.start(options) as run:
        made = run.client.service_accounts.create_key(id, name, days=days)
    note = f"key {made['id']} of {id}; its token is shown this once:"
    answers.secret(options, made, made["token"], note=note)


@app.command
def disable(id: str, /, *, options: Changing = UNSAID) -> None:
    """Refuse its keys from now on."""
    with session.start(options) as run:
        answers.thing(options, run.client.service_accounts.disable(id))


@app.command
def enable(id: str, /, *, options: Changing = UNSAID) -> None:
    """Let its keys be good again."""
    with session.start(options) as run:
        answers.thing(options, run.client.service_accounts.enable(id))
