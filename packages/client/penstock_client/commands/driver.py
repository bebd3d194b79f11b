"""`penstock driver`: what is installed here for all that differs by vendor. Asks no server."""

from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import App, Parameter

from penstock_client import errors, screen
from penstock_client.screen import column

if TYPE_CHECKING:
    from penstock_contracts.drivers.registry import Broken, Installed

app = App(name="driver", help="Drivers: what is installed here for all that differs by vendor.")
Json = Annotated[bool, Parameter(negative=())]

COLUMNS: Final = (
    column("KIND", "kind"),
    column("NAME", "name"),
    column("VERSION", "version"),
    column("PACKAGE", "package"),
    column("ABILITIES", "abilities"),
    column("WHAT IT DOES", "told"),
)


@app.command
def ls(*, json: Json = False) -> None:
    """List the drivers of this environment, and what is wrong with those that cannot be used."""
    try:
        from penstock_contracts.drivers import registry
    except ModuleNotFoundError:
        raise errors.Misused(
            "drivers are found by penstock-contracts, which is not installed here"
        ) from None
    rows = [view(each) for each in registry.installed()]
    if json:
        screen.document({"items": rows, "next": None})
    elif rows:
        screen.table(COLUMNS, [{**row, "told": told(row)} for row in rows])
    else:
        screen.note("no driver is installed here")


def view(found: "Installed[Any] | Broken") -> dict[str, object]:
    from penstock_contracts.drivers import config
    from penstock_contracts.drivers.registry import Broken

    origin = found.origin
    seen: dict[str, object] = {
        "kind": origin.kind,
        "name": origin.name,
        "version": origin.version,
        "package": origin.package,
    }
    if isinstance(found, Broken):
        return {**seen, "abilities": [], "sentence": None, "fields": [], "broken": found.reason}
    fields = [
        {"name": each.name, "wanted": each.wanted, "required": each.required}
        for each in config.describe(found.driver.config)
    ]
    abilities, sentence = sorted(found.driver.abilities), found.driver.sentence
    return {**seen, "abilities": abilities, "sentence": sentence, "fields": fields, "broken": None}


def told(row: dict[str, object]) -> str:
    """One line for people."""
    return f"cannot be used: {row['broken']}" if row["broken"] else str(row["sentence"])
