"""What a command prints when it succeeds: the API's JSON, or the same for people."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from penstock_client import screen
from penstock_client.options import Options
from penstock_client.screen import Column
from penstock_client.views.pages import Page

T = TypeVar("T", bound=Mapping[str, object])


def listing(options: Options, page: Page[T], columns: Sequence[Column], *, empty: str) -> None:
    """`empty` says what to do when there is nothing yet."""
    if options.json:
        screen.document(page)
    elif page["items"]:
        screen.table(columns, page["items"])
    else:
        screen.note(empty)
    if page["next"] is not None and not options.json:
        screen.note(f"there are more: add --cursor {page['next']}")


def thing(options: Options, view: Mapping[str, object], *, next: str | None = None) -> None:
    """`next` is what the reader will want to do with it."""
    if options.json:
        screen.document(view)
        return
    screen.card(view)
    if next is not None:
        screen.note(f"\nnext: {next}")


def secret(options: Options, view: Mapping[str, object], shown: str, *, note: str = "") -> None:
    """Alone on stdout, so that a script can take it; `note` says what it is."""
    if options.json:
        screen.document(view)
        return
    if note:
        screen.note(note)
    screen.line(shown)
