"""`penstock usage`: what was used, for how long, at what cost."""

from typing import Final

from cyclopts import App

from penstock_client import answers, session, words
from penstock_client.options import UNSET, Options
from penstock_client.screen import Column, column
from penstock_client.words import Row

app = App(name="usage", help="Usage: which GPUs were used, for how long, at what cost.")


def seconds(row: Row) -> str:
    value = row.get("seconds")
    return words.duration(float(value)) if isinstance(value, int | float) else words.NONE


def cost(row: Row) -> str:
    return words.money(row.get("cost_micros"), row.get("currency"))


def end(row: Row) -> str:
    return words.plain(row.get("to")) if row.get("to") else "running"


COLUMNS: Final = (
    column("ALLOCATION", "allocation"),
    column("SKU", "sku"),
    column("GPUS", "gpus", right=True),
    column("FROM", "from"),
    Column("TO", end),
    Column("TIME", seconds, right=True),
    Column("PRICE", words.price, right=True),
    Column("COST", cost, right=True),
)


@app.command
def ls(
    *, project: str | None = None, allocation: str | None = None, options: Options = UNSET
) -> None:
    """List usage records.

    Parameters
    ----------
    project
        Only this project's.
    allocation
        Only this allocation's.
    """
    with session.start(options) as run:
        page = run.client.usage.list(project=project, allocation=allocation)
    answers.listing(options, page, COLUMNS, empty="nothing was used yet")
