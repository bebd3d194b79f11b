"""`penstock availability`: what could be leased now, and where."""

from collections.abc import Iterator
from typing import Final

from cyclopts import App

from penstock_client import screen, session, words
from penstock_client.options import UNSET, Options
from penstock_client.screen import Column, column
from penstock_client.views.pages import Page
from penstock_client.views.room import Availability
from penstock_client.words import Row

app = App(name="availability", help="Availability: how much of each SKU fits now, and where.")

COLUMNS: Final = (
    column("SKU", "sku"),
    column("SITE", "site_name"),
    column("GPUS", "gpus", right=True),
    column("FIT NOW", "now", right=True),
    column("AFTER DEFRAGMENTATION", "after_defragmentation", right=True),
    Column("PRICE", words.price, right=True),
)


@app.default
def availability(
    *, sku: str | None = None, site: str | None = None, options: Options = UNSET
) -> None:
    """How many leases of each size fit now, if only that size were asked for.

    Parameters
    ----------
    sku
        Only this SKU, by id or name.
    site
        Only this site, by id or name.
    """
    with session.start(options) as run:
        page = run.client.availability.list(sku=sku, site=site)
    if options.json:
        screen.document(page)
    elif page["items"]:
        screen.table(COLUMNS, rows(page))
        screen.note("\nnext: penstock allocation create --sku SKU --gpus GPUS --site SITE")
    else:
        screen.note("nothing can be leased: no SKU has a node that you may use")


def rows(page: Page[Availability]) -> Iterator[Row]:
    """One for each size."""
    for item in page["items"]:
        for size in item["sizes"]:
            yield {**item, **size}
