"""`penstock site`: the places where the GPUs are. (`penstock site run` is the process.)"""

from typing import Final

from cyclopts import App

from penstock_client import answers, screen, session, words
from penstock_client.options import UNSAID, UNSET, Changing, Options, Several
from penstock_client.screen import aged, column

app = App(
    name="site",
    help="Sites: the places where the GPUs are. "
    "`penstock site run`, or `penstock site` alone, is a site's control plane itself.",
)

COLUMNS: Final = (
    column("ID", "id"),
    column("NAME", "name"),
    column("STATUS", "status"),
    column("CONNECTED", "connected"),
    aged("SINCE", "connected_at"),
    column("VERSION", "version"),
)


@app.command
def ls(*, options: Options = UNSET) -> None:
    """List sites."""
    with session.start(options) as run:
        page = run.client.sites.list()
    answers.listing(options, page, COLUMNS, empty="no sites yet: `penstock site create NAME`")


@app.command
def show(id: str, /, *, options: Options = UNSET) -> None:
    """Show one site."""
    with session.start(options) as run:
        answers.thing(options, run.client.sites.get(id))


@app.command
def create(
    name: str,
    /,
    *,
    auto_approve: bool = False,
    tags: Several = (),
    options: Changing = UNSAID,
) -> None:
    """Register a site.

    Parameters
    ----------
    auto_approve
        Approve slots on readiness evidence alone, without an operator.
    tags
        What is true of its nodes, to be asked for as residency: --tags eu country:de.
    """
    with session.start(options) as run:
        made = run.client.sites.create(name, auto_approve=auto_approve, tags=tags)
    answers.thing(options, made, next=f"penstock site token {made['id']}")


@app.command
def tag(id: str, /, *tags: str, options: Changing = UNSAID) -> None:
    """Replace a site's tags, which its nodes have, too; without any, it has none.

    Parameters
    ----------
    tags
        Such as eu, or country:de.
    """
    with session.start(options) as run:
        answers.thing(options, run.client.sites.tag(id, tags))


@app.command
def token(id: str, /, *, options: Changing = UNSAID) -> None:
    """Make a single-use token with which the site's control plane joins."""
    with session.start(options) as run:
        made = run.client.sites.create_token(id)
    answers.secret(options, made, made["token"])
    screen.note(f"usable once, until {words.when(made['expires_at'])}")


@app.command
def node_token(id: str, /, *, count: int = 1, options: Changing = UNSAID) -> None:
    """Make single-use tokens with which nodes join the site, one on each line.

    Parameters
    ----------
    count
        How many tokens; each node needs one.
    """
    with session.start(options) as run:
        made = run.client.sites.create_node_tokens(id, count=count)
    if options.json:
        screen.document(made)
        return
    for each in made["items"]:
        screen.line(each["token"])
    if made["items"]:
        screen.note(f"each usable once, until {words.when(made['items'][0]['expires_at'])}")
