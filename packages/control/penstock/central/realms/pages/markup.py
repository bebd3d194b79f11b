"""HTML from Python: text is always escaped, unless it is HTML made here."""

import html
from typing import Final

VOID: Final = frozenset({"img", "input", "link", "meta"})
Attribute = str | bool | None


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def el(tag: str, *children: str, **attributes: Attribute) -> Html:
    """`el("p", "1 < 2", class_="note")`. An attribute that is None or False is left out."""
    named = "".join(
        _attribute(name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items()
    )
    if tag in VOID:
        return Html(f"<{tag}{named}>")
    return Html(f"<{tag}{named}>{join(*children)}</{tag}>")


def join(*children: str) -> Html:
    return Html(
        "".join(child if isinstance(child, Html) else html.escape(child) for child in children)
    )


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{html.escape(value)}"'
