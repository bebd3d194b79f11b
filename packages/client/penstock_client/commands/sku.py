"""`penstock sku`: what can be allocated, and its price."""

from typing import Annotated, Final

from cyclopts import App, Parameter

from penstock_client import amounts, answers, session, words
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import Column, column
from penstock_client.views.catalog import Shape

app = App(name="sku", help="SKUs: what can be allocated, in which sizes, at what price.")

COLUMNS: Final = (
    column("NAME", "name"),
    column("SHAPE", "shape"),
    column("FAMILY", "family"),
    column("GPUS", "gpu_counts"),
    Column("PRICE", words.price, right=True),
    column("ID", "id"),
)


@app.command
def ls(*, options: Options = UNSET) -> None:
    """List SKUs."""
    with session.start(options) as run:
        page = run.client.skus.list()
    answers.listing(options, page, COLUMNS, empty="no SKUs yet: `penstock sku create --help`")


@app.command
def show(id: str, /, *, options: Options = UNSET) -> None:
    """Show one SKU, by id or name."""
    with session.start(options) as run:
        sku = run.client.skus.get(id)
    answers.thing(options, sku, next=f"penstock allocation create --sku {sku['name']}")


@app.command
def create(
    name: str,
    /,
    *,
    shape: Shape,
    family: str,
    gpu_counts: Annotated[list[int], Parameter(consume_multiple=True, negative=())],
    price: str,
    currency: str = "USD",
    options: Changing = UNSAID,
) -> None:
    """Create a SKU.

    Parameters
    ----------
    shape
        A whole machine, or some GPUs of one.
    family
        The GPU family, as nodes report it (h100).
    gpu_counts
        The sizes on offer: --gpu-counts 1 2 4 8.
    price
        Per GPU and hour, in the currency: 2.49.
    """
    micros = amounts.micros_of(price, "--price")
    with session.start(options) as run:
        made = run.client.skus.create(
            name,
            shape=shape,
            family=family,
            gpu_counts=gpu_counts,
            price_micros_per_gpu_hour=micros,
            currency=currency,
        )
    answers.thing(options, made, next=f"penstock allocation create --sku {made['name']}")
