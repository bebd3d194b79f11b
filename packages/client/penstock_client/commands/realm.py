"""`penstock realm`: shutting the door through which a tenant's people come."""

from cyclopts import App

from penstock_client import answers, session
from penstock_client.options import UNSET, Options

app = App(name="realm", help="Realms: where a tenant's people sign in.")


@app.command
def suspend(tenant: str, /, *, reason: str, options: Options = UNSET) -> None:
    """Let nobody in, and believe no token of the realm, at once. API keys work as before.

    Parameters
    ----------
    tenant
        Whose realm, by id or name.
    reason
        Why; kept in the audit log.
    """
    with session.start(options) as run:
        answers.thing(options, run.client.realms.suspend(tenant, reason=reason))


@app.command
def resume(tenant: str, /, *, reason: str, options: Options = UNSET) -> None:
    """Let the realm's people in again.

    Parameters
    ----------
    tenant
        Whose realm, by id or name.
    reason
        Why; kept in the audit log.
    """
    with session.start(options) as run:
        answers.thing(options, run.client.realms.resume(tenant, reason=reason))
