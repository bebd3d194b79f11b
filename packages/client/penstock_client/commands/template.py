"""`penstock template`: what tenants are given unless their files say otherwise."""

from typing import Final

from cyclopts import App

from penstock_client import answers, files, session, words
from penstock_client.commands import quota
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import column
from penstock_client.views.onboardings import Template
from penstock_client.words import Row

app = App(name="template", help="Templates: what tenants are onboarded with.")

COLUMNS: Final = (
    column("ID", "id"),
    column("NAME", "name"),
    column("SITE", "site"),
    column("SKUS", "skus"),
    column("SITES", "sites"),
    column("STRATEGY", "strategy"),
    column("REVISION", "revision", right=True),
)


def limited(limit: Row) -> str:
    """`gpus 64`, `h100 gpus 32`, `volumes 2 TiB`, `spend $5,000.00`."""
    field = next((key for key in limit if key.endswith("_max") and limit[key] is not None), "")
    kind = field.partition("_")[0]
    most = quota.counted({**limit, "kind": kind}, limit.get(field))
    return " ".join(filter(None, (words.safe(str(limit.get("family") or "")), kind, most)))


def shown(options: Options, template: Template) -> None:
    limits = [limited(limit) for limit in template.get("quotas", ())]
    answers.thing(options, template if options.json else {**template, "quotas": limits})


@app.command
def ls(*, options: Options = UNSET) -> None:
    """List templates."""
    with session.start(options) as run:
        page = run.client.templates.list()
    answers.listing(options, page, COLUMNS, empty="none: `penstock template set NAME --file FILE`")


@app.command
def show(id: str, /, *, options: Options = UNSET) -> None:
    """Show one template, by id or name."""
    with session.start(options) as run:
        shown(options, run.client.templates.get(id))


@app.command(name="set")
def set_template(name: str, /, *, file: str, options: Changing = UNSAID) -> None:
    """Make or replace a template. Tenants that were made with it stay as they are.

    Parameters
    ----------
    file
        YAML with any of site, sites, skus, images, families, residency, strategy,
        price_micros_max and quotas; `-` reads standard input.
    """
    template = files.read(file)
    with session.start(options) as run:
        shown(options, run.client.templates.set(name, template))
