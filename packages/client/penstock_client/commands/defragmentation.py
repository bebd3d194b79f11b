"""`penstock defragmentation`: moves that would open whole nodes or larger slices."""

from collections.abc import Sequence
from typing import Final

from cyclopts import App

from penstock_client import screen, session, words
from penstock_client.options import UNSET, Options
from penstock_client.screen import Column, column
from penstock_client.views.room import DefragmentationPlan, Gain
from penstock_client.words import Row

app = App(
    name="defragmentation",
    help="Defragmentation: moves that would open whole nodes or larger slices.",
)


def place(row: Row, end: str) -> str:
    return words.plain(row.get(f"{end}_name") or row.get(f"{end}_node"))


def size(row: Row) -> str:
    return sized(str(row.get("shape")), row.get("gpus"), 2)


MOVES: Final = (
    column("#", "order", right=True),
    column("ALLOCATION", "allocation"),
    column("TENANT", "tenant"),
    column("GPUS", "gpus", right=True),
    Column("FROM", lambda row: place(row, "from")),
    Column("TO", lambda row: place(row, "to")),
    column("OPENS", "opens"),
    column("COST GPU-MIN", "cost_gpu_minutes", right=True),
)
GAINS: Final = (
    Column("FITS", size),
    column("NOW", "before", right=True),
    column("AFTER", "after", right=True),
)


@app.command
def plan(*, family: str, site: str, gpus: int | None = None, options: Options = UNSET) -> None:
    """Show which leases to move, what that opens and what it costs. Nothing is moved.

    Parameters
    ----------
    family
        The GPU family, as nodes report it (h100).
    site
        The site, by id or name. Leases move within a site.
    gpus
        Open room for slices of so many GPUs; without it, whole nodes.
    """
    with session.start(options) as run:
        made = run.client.defragmentation.plan(family=family, site=site, gpus=gpus)
    if options.json:
        screen.document(made)
    else:
        tell(made)


def tell(made: DefragmentationPlan) -> None:
    what = f"{sized(made['shape'], made['gpus'], made['opened'])} of {made['family']}"
    if not made["moves"]:
        screen.note(f"no move would open more {what} at {made['site_name']}")
        return
    moved = sum(move["gpus"] for move in made["moves"])
    screen.line(
        f"opens    {made['opened']} {what} at {made['site_name']}\n"
        f"moves    {counted(len(made['moves']), 'lease')}, {counted(moved, 'GPU')}\n"
        f"costs    {made['cost_gpu_minutes']} GPU-minutes, "
        f"{made['disruption_gpu_minutes']} of them stopped\n"
    )
    screen.table(MOVES, rows(made))
    screen.line("")
    screen.table(GAINS, changed(made["gains"]))
    screen.note("\nthis is a plan: nothing was moved, and nothing will move by itself")


def rows(made: DefragmentationPlan) -> list[Row]:
    """The moves in their order, with names for the nodes that they open."""
    names = {move["from_node"]: move["from_name"] for move in made["moves"]}
    return [
        {"order": n, **move, "opens": names.get(move["opens"]) or move["opens"]}
        for n, move in enumerate(made["moves"], 1)
    ]


def changed(gains: Sequence[Gain]) -> list[Gain]:
    return [gain for gain in gains if gain["before"] != gain["after"]]


def sized(shape: str, gpus: object, count: int) -> str:
    thing = "whole node" if shape == "baremetal" else "slice"
    return f"{thing}{'' if count == 1 else 's'} with {gpus} GPU{'' if gpus == 1 else 's'}"


def counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
