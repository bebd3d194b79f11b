"""`penstock realm`: the door through which a tenant's people come, and the keys it signs with."""

from typing import Annotated

from cyclopts import App, Parameter

from penstock_client import answers, session
from penstock_client.options import UNSAID, UNSET, Changing, Options

app = App(name="realm", help="Realms: where a tenant's people sign in.")
Whose = Annotated[str, Parameter(help="Whose realm, by id or name.")]
Flag = Annotated[bool, Parameter(negative=())]
Reason = Annotated[str, Parameter(help="Why; kept in the audit log.")]


@app.command
def rotate(
    *, tenant: str | None = None, distrust: Flag = False, options: Changing = UNSAID
) -> None:
    """Sign with the next key from now on. What the old one signed runs out by itself.

    Parameters
    ----------
    tenant
        Whose realm, by id or name; your own tenant's if left out.
    distrust
        The old key leaked: refuse what it signed, at once.
    """
    with session.start(options) as run:
        answers.thing(options, run.client.realms.rotate(tenant=tenant, distrust=distrust))


@app.command
def suspend(tenant: Whose, /, *, reason: Reason, options: Options = UNSET) -> None:
    """Let nobody in, and believe no token or personal key of the realm, at once. The tenant's own
    keys work as before."""
    with session.start(options) as run:
        answers.thing(options, run.client.realms.suspend(tenant, reason=reason))


@app.command
def resume(tenant: Whose, /, *, reason: Reason, options: Options = UNSET) -> None:
    """Let the realm's people in again."""
    with session.start(options) as run:
        answers.thing(options, run.client.realms.resume(tenant, reason=reason))
