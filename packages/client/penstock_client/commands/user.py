"""`penstock user`: the people of a tenant."""

from typing import Final

from cyclopts import App

from penstock_client import answers, session
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import aged, column
from penstock_client.views.people import Role

app = App(name="user", help="Users: the people of a tenant, who is in and who is out.")

COLUMNS: Final = (
    column("ID", "id"),
    column("EMAIL", "email"),
    column("NAME", "name"),
    column("ROLE", "role"),
    column("STATUS", "status"),
    column("SECOND FACTOR", "second_factor"),
    aged("CREATED", "created_at"),
)


@app.command
def ls(*, options: Options = UNSET) -> None:
    """List users."""
    with session.start(options) as run:
        page = run.client.users.list()
    answers.listing(options, page, COLUMNS, empty="no users yet: `penstock user invite EMAIL`")


@app.command
def show(id: str, /, *, options: Options = UNSET) -> None:
    """Show one user."""
    with session.start(options) as run:
        answers.thing(options, run.client.users.get(id))


@app.command
def invite(
    email: str, /, *, role: Role = "member", tenant: str | None = None, options: Changing = UNSAID
) -> None:
    """Invite someone. The address to send them is shown once, and works once.

    Parameters
    ----------
    role
        What they may do.
    tenant
        Whose user they become; your own tenant's if left out.
    """
    with session.start(options) as run:
        made = run.client.users.invite(email, role=role, tenant=tenant)
    note = f"{made['email']} becomes {made['role']} by opening this, which is shown this once:"
    answers.secret(options, made, made["url"], note=note)


@app.command(name="set-role")
def set_role(id: str, role: Role, /, *, options: Changing = UNSAID) -> None:
    """Change someone's role in the tenant as a whole; `none` leaves what is bound to them.

    Roles at an organization or a project: `penstock role bind`.
    """
    with session.start(options) as run:
        answers.thing(options, run.client.users.change_role(id, role))


@app.command
def disable(id: str, /, *, options: Changing = UNSAID) -> None:
    """Shut someone out: their sessions, tokens and keys are good no more."""
    with session.start(options) as run:
        answers.thing(options, run.client.users.disable(id))


@app.command
def enable(id: str, /, *, options: Changing = UNSAID) -> None:
    """Let someone who was disabled, or locked out by wrong passwords, in again."""
    with session.start(options) as run:
        answers.thing(options, run.client.users.enable(id))


@app.command
def reset(id: str, /, *, second_factor: bool = False, options: Changing = UNSAID) -> None:
    """Give someone a way back in. The address to send them is shown once, and works once.

    Parameters
    ----------
    second_factor
        They lost that too: they come in without, and should set it up anew.
    """
    with session.start(options) as run:
        made = run.client.users.reset(id, second_factor=second_factor)
    note = f"{made['email']} chooses a new password by opening this, shown this once:"
    answers.secret(options, made, made["url"], note=note)
