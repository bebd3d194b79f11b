"""`penstock invariants`: what must always hold, and whether it does."""

from typing import Final

from cyclopts import App

from penstock_client import answers, errors, screen, session, words
from penstock_client.options import UNSET, Options
from penstock_client.screen import column

app = App(name="invariants", help="Invariants: what must always hold, with any violations.")

COLUMNS: Final = (column("INVARIANT", "name"), column("VIOLATIONS", "violations", right=True))


@app.command
def ls(*, options: Options = UNSET) -> int:
    """List invariants. Exits with 1 if any is violated."""
    with session.start(options) as run:
        page = run.client.invariants()
    answers.listing(options, page, COLUMNS, empty="the API lists no invariants")
    violated = [each for each in page["items"] if each["violations"]]
    if not options.json:
        for each in violated:
            for found in each.get("found", []):
                screen.note(f"{each['name']}: {words.plain(found)}")
    return errors.REFUSED if violated else errors.OK
