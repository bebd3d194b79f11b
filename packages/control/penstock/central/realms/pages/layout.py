"""The frame of every page: no scripts, nothing from elsewhere, never inside another page."""

from pathlib import Path
from typing import Final, Protocol

from fastapi import Response
from fastapi.responses import HTMLResponse

from penstock.central.realms.model import Realm
from penstock.central.realms.pages.markup import Html, el, join
from penstock.central.realms.parameters import Malformed
from penstock.central.realms.web import RealmRoute
from penstock_contracts.web_addresses import WebAddress

STYLE: Final = (Path(__file__).parent / "style.css").read_text()


class Somewhere(Protocol):
    """What a page says of its realm."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...


def page(
    realm: Somewhere,
    title: str,
    *body: str,
    status: int = 200,
    forms_lead_to: WebAddress | None = None,
    wide: bool = False,
) -> Response:
    """`forms_lead_to`: another place to which the answer of a form here may redirect."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", f"{title} – {realm.name}"),
        el("link", rel="stylesheet", href=f"{realm.path}/style.css"),
    )
    main = el("main", el("h1", title), *body, class_="wide" if wide else None)
    footer = el("footer", "Penstock · ", el("span", realm.name, class_="realm"))
    document = el("html", head, el("body", main, footer), lang="en")
    return HTMLResponse(f"<!doctype html>{document}", status, headers=_headers(forms_lead_to))


def _headers(forms_lead_to: WebAddress | None) -> dict[str, str]:
    elsewhere = f" {forms_lead_to.origin}" if forms_lead_to is not None else ""
    policy = (
        "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; "
        f"frame-ancestors 'none'; form-action 'self'{elsewhere}"
    )
    return {"Content-Security-Policy": policy, "X-Frame-Options": "DENY"}


def form(action: str, csrf: str, *fields: str, **hidden: str) -> Html:
    kept = [el("input", type="hidden", name=name, value=value) for name, value in hidden.items()]
    token = el("input", type="hidden", name="csrf", value=csrf)
    return el("form", token, *kept, *fields, method="post", action=action)


def field(
    id: str,
    label: str,
    *,
    type: str = "text",
    value: str = "",
    autocomplete: str = "off",
    autofocus: bool = False,
    hint: str = "",
    **more: str | bool | None,
) -> Html:
    note = el("span", hint, class_="soft", id=f"{id}-hint") if hint else Html("")
    described = f"{id}-hint" if hint else None
    return join(
        el("label", label, for_=id),
        el(
            "input", id=id, name=id, type=type, value=value or None, autocomplete=autocomplete,
            autofocus=autofocus, required=True, aria_describedby=described, **more,
        ),
        note,
    )  # fmt: skip


def button(text: str, *, plain: bool = False, name: str | None = None, value: str = "") -> Html:
    chosen = value if name else None
    return el(
        "button", text, type="submit", class_="plain" if plain else None, name=name, value=chosen
    )


def wrong(text: str) -> Html:
    return el("p", text, class_="wrong", role="alert") if text else Html("")


def trouble(realm: Realm, text: str, status: int = 400) -> Response:
    return page(
        realm,
        "This did not work",
        wrong(text),
        el(
            "p",
            "Go back to where you came from and try again. If it happens again, tell whoever "
            "runs that program.",
            class_="soft",
        ),
        status=status,
    )


class PageRoute(RealmRoute):
    """A route for people: what cannot be read is told on a page."""

    def refuse(self, realm: Realm, error: Malformed) -> Response:
        return trouble(realm, str(error))
