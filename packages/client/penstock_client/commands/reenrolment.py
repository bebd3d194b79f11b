"""`penstock reenrolment`: nodes that lost their key, and ask to come back under a new one."""

from typing import Final

from cyclopts import App

from penstock_client import answers, session
from penstock_client.options import UNSET, Options
from penstock_client.screen import aged, column

app = App(
    name="reenrolment",
    help="Re-enrolments: machines that say they are nodes that lost their key.",
)

COLUMNS: Final = (
    column("ID", "id"),
    column("NODE", "node"),
    column("NAME", "node_name"),
    column("STATUS", "status"),
    column("DIFFERS", "differs"),
    aged("SINCE", "requested_at"),
)


@app.command
def ls(*, node: str | None = None, all: bool = False, options: Options = UNSET) -> None:
    """List the re-enrolments that wait for a decision.

    Parameters
    ----------
    node
        Only those of this node.
    all
        Those that are decided, too.
    """
    with session.start(options) as run:
        page = run.client.reenrolments.list(node=node, status=None if all else "waiting")
    answers.listing(options, page, COLUMNS, empty="no node waits to come back")


@app.command
def show(id: str, /, *, options: Options = UNSET) -> None:
    """Show what the node had, what this machine has, and the fingerprint of its new key.

    The agent logs the fingerprint as `key`: compare it at the machine.
    """
    with session.start(options) as run:
        answers.thing(options, run.client.reenrolments.get(id))


@app.command
def approve(id: str, /, *, reason: str, options: Options = UNSET) -> None:
    """Let the node come back under its new key. The leases that it held end.

    Parameters
    ----------
    reason
        How you know that it is the same machine; kept in the audit log.
    """
    with session.start(options) as run:
        answers.thing(options, run.client.reenrolments.approve(id, reason=reason))


@app.command
def reject(id: str, /, *, reason: str, options: Options = UNSET) -> None:
    """Refuse the new key.

    Parameters
    ----------
    reason
        The agent is told, and the audit log keeps it.
    """
    with session.start(options) as run:
        answers.thing(options, run.client.reenrolments.reject(id, reason=reason))
