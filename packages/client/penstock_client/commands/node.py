"""`penstock node`: the machines at the sites."""

from typing import Final, cast

from cyclopts import App

from penstock_client import amounts, answers, screen, session, words
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import Column, aged, column
from penstock_client.views.fleet import NodeChanges
from penstock_client.words import Row

app = App(name="node", help="Nodes: the machines at the sites, and what they may be used for.")


def gpus(row: Row) -> str:
    return f"{words.plain(row.get('gpus_free'))}/{words.plain(row.get('gpus'))}"


def health(row: Row) -> str:
    """How much is wrong with it: checks that do not pass, and differences from its leases."""
    found = cast("Row", row.get("health") or {})
    wrong = [*cast("list[Row]", found.get("problems") or [])]
    wrong += cast("list[Row]", found.get("discrepancies") or [])
    return f"{len(wrong)} wrong" if wrong else "ok"


COLUMNS: Final = (
    column("ID", "id"),
    column("NAME", "name"),
    column("SITE", "site"),
    column("HARDWARE", "hardware"),
    Column("FREE/GPUS", gpus, right=True),
    column("POSTURE", "posture"),
    Column("HEALTH", health),
    column("CONNECTED", "connected"),
    aged("SINCE", "connected_at"),
)


@app.command
def ls(*, site: str | None = None, retired: bool = False, options: Options = UNSET) -> None:
    """List nodes.

    Parameters
    ----------
    site
        Only the nodes of this site.
    retired
        Those that are gone for good, too.
    """
    with session.start(options) as run:
        page = run.client.nodes.list(site=site, retired=retired or None)
    answers.listing(options, page, COLUMNS, empty="no nodes yet: `penstock site node-token SITE`")


@app.command
def show(id: str, /, *, options: Options = UNSET) -> None:
    """Show one node."""
    with session.start(options) as run:
        answers.thing(options, run.client.nodes.get(id), next=f"penstock slot ls --node {id}")


@app.command
def tag(id: str, /, *tags: str, options: Changing = UNSAID) -> None:
    """Replace a node's own tags; without any, it has only its site's.

    Parameters
    ----------
    tags
        Such as hall:2, or fast-disks.
    """
    change(id, {"tags": list(tags)}, options)


@app.command
def reserve(id: str, tenant: str, /, *, options: Changing = UNSAID) -> None:
    """Keep a node for one tenant. What runs there goes on."""
    change(id, {"reserved_for": tenant}, options)


@app.command
def unreserve(id: str, /, *, options: Changing = UNSAID) -> None:
    """Let every tenant use a node again."""
    change(id, {"reserved_for": None}, options)


@app.command
def price(id: str, price: str, /, *, options: Changing = UNSAID) -> None:
    """Say what the node's source asks per GPU and hour (2.49); 0 if that is not known."""
    change(id, {"price_micros_per_gpu_hour": amounts.micros_of(price, "the price")}, options)


@app.command
def leaf(id: str, leaf: str | None = None, /, *, options: Changing = UNSAID) -> None:
    """Say on which fabric leaf a node is; without a name, where it was discovered."""
    change(id, {"leaf": leaf}, options)


def change(id: str, changes: NodeChanges, options: Changing) -> None:
    with session.start(options) as run:
        answers.thing(options, run.client.nodes.change(id, changes))


@app.command
def drain(id: str, /, *, reason: str | None = None, options: Options = UNSET) -> None:
    """Place nothing new on a node. What runs there goes on.

    Parameters
    ----------
    reason
        Kept in the audit log and shown beside the node.
    """
    with session.start(options) as run:
        node = run.client.nodes.drain(id, reason=reason)
    answers.thing(options, node, next=f"penstock node undrain {id}")


@app.command
def undrain(id: str, /, *, options: Changing = UNSAID) -> None:
    """Let a drained node be used again."""
    with session.start(options) as run:
        answers.thing(options, run.client.nodes.undrain(id))


@app.command
def approve(id: str, /, *, options: Changing = UNSAID) -> None:
    """Approve all slots that the node proposes."""
    with session.start(options) as run:
        answers.thing(options, run.client.nodes.approve(id))


@app.command
def retire(id: str, /, *, reason: str, options: Options = UNSET) -> None:
    """Take a node out of service for good: nothing new at once, retired after its last lease.

    Parameters
    ----------
    reason
        Kept in the audit log and shown beside the node.
    """
    with session.start(options) as run:
        node = run.client.nodes.retire(id, reason=reason)
    answers.thing(options, node, next=f"penstock node replace {id}")


@app.command
def replace(id: str, /, *, options: Changing = UNSAID) -> None:
    """Make a single-use token with which another machine joins under a retired node's name."""
    with session.start(options) as run:
        made = run.client.nodes.replace(id)
    answers.secret(options, made, made["token"])
    screen.note(f"usable once, until {words.when(made['expires_at'])}")


@app.command
def rejoin(id: str, /, *, options: Changing = UNSAID) -> None:
    """Make a single-use token with which a node that lost its key asks to come back."""
    with session.start(options) as run:
        made = run.client.nodes.create_rejoin_token(id)
    answers.secret(options, made, made["token"])
    screen.note(f"usable once, until {words.when(made['expires_at'])}")
    screen.note(f"next: start the agent with it, then penstock reenrolment ls --node {id}")
