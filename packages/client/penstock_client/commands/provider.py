"""`penstock provider`: other issuers through which a tenant's people sign in."""

from typing import Annotated, Final

from cyclopts import App, Parameter

from penstock_client import answers, secrets, session
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import aged, column

app = App(name="provider", help="Providers: other issuers through which people sign in.")

COLUMNS: Final = (
    column("ID", "id"),
    column("NAME", "name"),
    column("TENANT", "tenant"),
    column("ISSUER", "issuer"),
    column("CLIENT", "client_id"),
    aged("CREATED", "created_at"),
    aged("DISABLED", "disabled_at"),
)


@app.command
def ls(*, options: Options = UNSET) -> None:
    """List providers."""
    with session.start(options) as run:
        page = run.client.providers.list()
    answers.listing(
        options,
        page,
        COLUMNS,
        empty="none yet: the platform adds one with `penstock provider create`",
    )


@app.command
def create(
    name: str,
    /,
    *,
    issuer: str,
    client_id: str,
    secret_file: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    tenant: str | None = None,
    options: Changing = UNSAID,
) -> None:
    """Let a tenant's people sign in through another OpenID Connect issuer.

    The client's secret is asked for, or read from standard input or a file: on a command line
    everyone on the machine could see it.

    Parameters
    ----------
    issuer
        Its address, as its own discovery says it: https://login.example
    client_id
        What the platform is called there.
    secret_file
        The file that holds the client's secret; - is standard input.
    tenant
        Whose people; by id or name.
    """
    secret = secrets.SHOWN if options.curl else secrets.read("client secret", secret_file)
    with session.start(options) as run:
        made = run.client.providers.create(
            name, issuer=issuer, client_id=client_id, client_secret=secret, tenant=tenant
        )
    answers.thing(options, made)


@app.command
def disable(id: str, /, *, options: Changing = UNSAID) -> None:
    """Let nobody in through it any more. Who is in stays in."""
    with session.start(options) as run:
        answers.thing(options, run.client.providers.disable(id))
