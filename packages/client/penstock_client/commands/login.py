"""`penstock login`: let a browser say who you are."""

from typing import Annotated

from cyclopts import App, Parameter

from penstock_client import contexts, errors, requests, screen, signin
from penstock_client.contexts import Context

app = App(name="login", help="Sign in to a tenant, in a browser.")


@app.default
def login(
    *,
    tenant: str,
    api: str | None = None,
    context: str | None = None,
    project: str | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Sign in. Shows an address and a code; open the one, in any browser, and check the other.

    What you get is kept in a context of its own, renews itself, and can be ended with
    `penstock logout`, or from anywhere with `penstock session revoke`.

    Parameters
    ----------
    tenant
        The tenant whose realm you belong to, by name.
    api
        Where the API is; PENSTOCK_API, or that of the current context, if left out.
    context
        What to call the context; the tenant's name if left out.
    project
        The project that allocations are made in unless told otherwise.
    """
    where = contexts.check(api) if api else contexts.address()
    if where.startswith("http://") and not requests.is_loopback(where):
        raise errors.Misused(
            f"{where} is not https: what you sign in with could be read on the way"
        )
    realm = signin.discover(where, tenant)
    invitation = signin.begin(realm)
    screen.note(f"open  {invitation.complete_url}")
    screen.note(f"and check that it shows  {invitation.user_code}")
    token, held = signin.wait(realm, invitation)
    name = context or tenant
    with contexts.locked():
        stored = contexts.load().adding(Context(name, where, token, project, held))
        contexts.save(stored.using(name))
    if json:
        screen.document({"context": name, "api": where, "issuer": realm.issuer})
    else:
        screen.note(f"signed in; context {name} is current")
    if why := contexts.overridden(name):
        screen.note(why)
