"""`penstock pool`: what tenants' networks are made of."""

from typing import Final

from cyclopts import App

from penstock_client import answers, errors, session
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import column
from penstock_client.views.networks import PoolKind

app = App(name="pool", help="Pools: VRFs, VLANs, VNIs, partition keys and prefixes to hand out.")

COLUMNS: Final = (
    column("ID", "id"),
    column("NAME", "name"),
    column("KIND", "kind"),
    column("SITE", "site"),
    column("BOUNDS", "bounds"),
    column("ASSIGNED", "assigned", right=True),
    column("LEFT", "left"),
)


@app.command
def ls(*, options: Options = UNSET) -> None:
    """List pools, and what is left of each."""
    with session.start(options) as run:
        page = run.client.pools.list()
    answers.listing(options, page, COLUMNS, empty="no pools yet: `penstock pool create NAME`")


@app.command
def show(id: str, /, *, options: Options = UNSET) -> None:
    """Show one pool, by id or name."""
    with session.start(options) as run:
        answers.thing(options, run.client.pools.get(id))


@app.command
def create(
    name: str,
    /,
    *,
    kind: PoolKind,
    range: str | None = None,
    prefix: str | None = None,
    site: str | None = None,
    options: Changing = UNSAID,
) -> None:
    """Add numbers or addresses to hand out.

    Parameters
    ----------
    kind
        What they are.
    range
        The first and the last number: 100-199, 0x0010-0x7ffe.
    prefix
        For addresses, a block in its canonical form: 10.20.0.0/16.
    site
        Where they mean something; everywhere if left out.
    """
    first, last = (None, None) if range is None else bounds(range)
    with session.start(options) as run:
        made = run.client.pools.create(
            name, kind=kind, site=site, first=first, last=last, prefix=prefix
        )
    answers.thing(options, made)


def bounds(range: str) -> tuple[int, int]:
    first, _, last = range.partition("-")
    try:
        return int(first, 0), int(last or first, 0)
    except ValueError:
        raise errors.Misused(f"--range: {range!r} is not like 100-199 or 0x0010-0x7ffe") from None
