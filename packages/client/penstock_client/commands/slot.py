"""`penstock slot`: the bundles of hardware that are claimed as one."""

from typing import Final

from cyclopts import App

from penstock_client import answers, session
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import column

app = App(name="slot", help="Slots: a GPU with its disk, fabric device, CPUs and memory.")

COLUMNS: Final = (
    column("ID", "id"),
    column("KIND", "kind"),
    column("INDEX", "index", right=True),
    column("STATE", "state"),
    column("GPU", "gpu_uuid"),
    column("NUMA", "numa_node", right=True),
    column("ALLOCATION", "allocation"),
    column("FENCE", "fence", right=True),
    column("REASON", "reason"),
)


@app.command
def ls(*, node: str, options: Options = UNSET) -> None:
    """List the slots of a node."""
    with session.start(options) as run:
        page = run.client.nodes.slots(node)
    answers.listing(options, page, COLUMNS, empty="the node has proposed no slots yet")


@app.command
def show(id: str, /, *, options: Options = UNSET) -> None:
    """Show one slot."""
    with session.start(options) as run:
        answers.thing(options, run.client.slots.get(id))


@app.command
def approve(id: str, /, *, options: Changing = UNSAID) -> None:
    """Let a proposed slot be scheduled."""
    with session.start(options) as run:
        answers.thing(options, run.client.slots.approve(id))


@app.command
def cleanup(id: str, /, *, options: Changing = UNSAID) -> None:
    """Ask again for the cleanup of a blocked slot."""
    with session.start(options) as run:
        answers.thing(options, run.client.slots.cleanup(id))
