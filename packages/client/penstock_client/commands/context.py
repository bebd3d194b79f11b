"""`penstock context`: which API to talk to. Tokens go in and are never printed."""

import os
from typing import Annotated, Final

from cyclopts import App, Parameter

from penstock_client import contexts, requests, screen, secrets
from penstock_client.contexts import Context
from penstock_client.screen import column
from penstock_client.secrets import Secret

app = App(name="context", help="Contexts: the APIs you use, and which one commands talk to.")
Json = Annotated[bool, Parameter(negative=())]

COLUMNS: Final = (
    column("CURRENT", "current"),
    column("NAME", "name"),
    column("API", "api"),
    column("PROJECT", "project"),
)


@app.command
def ls(*, json: Json = False) -> None:
    """List contexts. None is current while the environment says which API to use."""
    stored = contexts.load()
    why = contexts.overridden(stored.current)
    rows = [
        view(each, current=stored.current == name and why is None)
        for name, each in stored.known.items()
    ]
    if why is not None:
        screen.note(why)
    if json:
        screen.document({"items": rows, "next": None})
    elif rows:
        screen.table(COLUMNS, rows)
    else:
        screen.note("no contexts yet: `penstock context add NAME --api URL`")


@app.command
def show(name: str | None = None, /, *, json: Json = False) -> None:
    """Show a context; without a name, the one that commands here would use."""
    context = contexts.select(name)
    row = view(context, current=name is None or contexts.load().current == name)
    if json:
        screen.document(row)
    else:
        screen.card(row)


@app.command
def add(name: str, /, *, api: str, project: str | None = None, use: bool = False) -> None:
    """Add a context, or replace one.

    The token is read from PENSTOCK_TOKEN, or asked for, or read from standard input:
    on a command line everyone on the machine could see it.

    Parameters
    ----------
    api
        Where the API is: https://penstock.example
    project
        The project that allocations are made in unless told otherwise.
    use
        Make it the current context. The first one always is.
    """
    context = Context(name, contexts.check(api), read_token(), project)
    stored = contexts.load().adding(context)
    contexts.save(stored.using(name) if use else stored)
    screen.note(f"context {name} is added" + (" and current" if use else ""))
    if context.api.startswith("http://") and not requests.is_loopback(context.api):
        screen.note("its address is not https: anyone on the way can read the token")


@app.command
def use(name: str, /) -> None:
    """Make a context the current one."""
    contexts.save(contexts.load().using(name))
    screen.note(f"context {name} is current")
    if why := contexts.overridden(name):
        screen.note(why)


@app.command
def rm(name: str, /) -> None:
    """Forget a context and its token."""
    contexts.save(contexts.load().removing(name))
    screen.note(f"context {name} is forgotten")


def view(context: Context, *, current: bool) -> dict[str, object]:
    """All of a context that may be seen."""
    return {
        "name": context.name,
        "api": context.api,
        "project": context.project,
        "current": current,
    }


def read_token() -> Secret:
    given = os.environ.get("PENSTOCK_TOKEN")
    return secrets.clean(given, "PENSTOCK_TOKEN") if given else secrets.read("token")
