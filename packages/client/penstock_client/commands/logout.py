"""`penstock logout`: end what `penstock login` began."""

from cyclopts import App

from penstock_client import contexts, errors, screen, signin

app = App(name="logout", help="Sign out, here and at the platform.")


@app.default
def logout(*, context: str | None = None) -> None:
    """Sign out: the session is ended at the platform, and the context forgotten.

    Parameters
    ----------
    context
        Which context; the current one if left out.
    """
    chosen = contexts.select(context)
    if chosen.login is None:
        raise errors.Misused(f"context {chosen.name!r} was not signed in with `penstock login`")
    unheard: errors.ClientError | None = None
    try:
        signin.end(chosen)
    except errors.ClientError as error:
        unheard = error
    with contexts.locked():
        contexts.save(contexts.load().removing(chosen.name))
    screen.note(f"signed out; context {chosen.name} is forgotten")
    if unheard is not None:
        screen.note(f"the platform did not hear of it: {unheard}")
        screen.note("end the session there: `penstock session ls`, `penstock session revoke`")
