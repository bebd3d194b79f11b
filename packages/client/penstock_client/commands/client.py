"""`penstock client`: programs that may ask a tenant's realm for tokens."""

from typing import Annotated, Final, Literal

from cyclopts import App, Parameter

from penstock_client import answers, session
from penstock_client.options import UNSAID, UNSET, Changing, Options, Several
from penstock_client.screen import aged, column
from penstock_client.views.people import ClientScope, Role

app = App(name="client", help="Clients: programs that may ask a tenant's realm for tokens.")
DEVICE: Final = "urn:ietf:params:oauth:grant-type:device_code"
Grant = Literal["authorization_code", "refresh_token", "client_credentials", "device_code"]
Grants = Annotated[list[Grant] | None, Parameter(consume_multiple=True, negative=())]
Scopes = Annotated[list[ClientScope] | None, Parameter(consume_multiple=True, negative=())]

COLUMNS: Final = (
    column("ID", "id"),
    column("NAME", "name"),
    column("TENANT", "tenant"),
    column("PUBLIC", "public"),
    column("GRANTS", "grants"),
    column("SCOPES", "scopes"),
    column("ROLE", "role"),
    aged("CREATED", "created_at"),
    aged("DISABLED", "disabled_at"),
)


@app.command
def ls(*, options: Options = UNSET) -> None:
    """List clients."""
    with session.start(options) as run:
        page = run.client.clients.list()
    answers.listing(options, page, COLUMNS, empty="no clients yet: `penstock client create NAME`")


@app.command
def show(id: str, /, *, options: Options = UNSET) -> None:
    """Show one client, without its secret."""
    with session.start(options) as run:
        answers.thing(options, run.client.clients.get(id))


@app.command
def create(
    name: str,
    /,
    *,
    redirect: Several = (),
    grant: Grants = None,
    scope: Scopes = None,
    role: Role | None = None,
    public: Annotated[bool, Parameter(negative=())] = False,
    tenant: str | None = None,
    options: Changing = UNSAID,
) -> None:
    """Register a client. Its secret is shown once; a public one has none.

    Parameters
    ----------
    redirect
        Where people may be sent back to, exactly: https://app.example/callback
    grant
        How it gets tokens; authorization_code and refresh_token if left out.
    scope
        What its tokens may be used for; openid and read if left out.
    role
        What it may do by itself (client_credentials).
    public
        It cannot keep a secret: it runs in a browser or on people's machines.
    tenant
        Whose realm, by id or name; your own tenant's if left out.
    """
    grants = None if grant is None else [DEVICE if g == "device_code" else g for g in grant]
    with session.start(options) as run:
        made = run.client.clients.create(
            name, redirect_uris=redirect, grants=grants, scopes=scope, role=role, public=public,
            tenant=tenant,
        )  # fmt: skip
    if made["secret"] is None:
        answers.thing(options, made)
        return
    note = f"client {made['id']}; its secret is shown this once:"
    answers.secret(options, made, made["secret"], note=note)


@app.command
def disable(id: str, /, *, options: Changing = UNSAID) -> None:
    """Disable a client: it gets no more tokens, and those that it has are good no more."""
    with session.start(options) as run:
        answers.thing(options, run.client.clients.disable(id))
