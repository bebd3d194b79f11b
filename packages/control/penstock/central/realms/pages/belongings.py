"""What is somebody's own, on the account page: clients they let in, keys they made."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from fastapi import APIRouter, Request, Response

from penstock.central.access import service as access_keys
from penstock.central.access.model import Key
from penstock.central.realms import web
from penstock.central.realms.grants import consents
from penstock.central.realms.pages import browsers
from penstock.central.realms.pages.browsers import Browser
from penstock.central.realms.pages.layout import PageRoute, form
from penstock.central.realms.pages.markup import Html, el, join
from penstock.central.realms.web import Here
from penstock.kernel.errors import NotFound

router = APIRouter(prefix="/realms/{name}", route_class=PageRoute, include_in_schema=False)


@router.post("/account/keys/end")
async def end_key(request: Request, realm: Here) -> Response:
    browser = browsers.of(request)
    fields = await browsers.submitted(request, browser)
    async with web.transaction(request) as tx:
        known = await browsers.who(tx, browser)
        if known is not None:
            with suppress(NotFound):  # there is none, or it is another's
                await access_keys.revoke_own(
                    tx, browsers.acting(known, tx.now), fields.get("key", "")
                )
    return browsers.go(f"{realm.path}/account")


@router.post("/account/clients/end")
async def take_back(request: Request, realm: Here) -> Response:
    browser = browsers.of(request)
    fields = await browsers.submitted(request, browser)
    async with web.transaction(request) as tx:
        known = await browsers.who(tx, browser)
        if known is not None:
            actor = browsers.acting(known, tx.now)
            await consents.take_back(tx, actor, known[1], fields.get("client", ""))
    return browsers.go(f"{realm.path}/account")


def clients(browser: Browser, let_in: Sequence[tuple[str, str]]) -> Html:
    rows = [
        row(name, "", ending(browser, "clients", "Take back", client=id)) for id, name in let_in
    ]
    return _section("Programs that you let in", rows, "None.")


def keys(browser: Browser, good: Sequence[Key], now: datetime) -> Html:
    rows = [_key(browser, key, now) for key in good]
    return _section("Your API keys", rows, "None. Scripts use them: `penstock key create`.")


def _key(browser: Browser, key: Key, now: datetime) -> Html:
    through = f" through {key.client_id}" if key.client_id else ""
    until = f", until {key.expires_at:%Y-%m-%d}" if key.expires_at else ""
    told = f"{' '.join(key.scopes or ())}; made {ago(key.created_at, now)}{through}{until}"
    return row(key.name, told, ending(browser, "keys", "End", key=key.id))


def _section(title: str, rows: Sequence[Html], nothing: str) -> Html:
    shown = el("ul", *rows, class_="sessions") if rows else el("p", nothing, class_="soft")
    return join(el("h2", title), shown)


def row(what: str, told: str, end: Html) -> Html:
    return el("li", el("span", el("strong", what), el("span", told, class_="soft")), end)


def ending(browser: Browser, noun: str, text: str, **hidden: str) -> Html:
    """The button that ends one of these."""
    button = el("button", text, type="submit", class_="plain small")
    return form(f"{browser.realm.path}/account/{noun}/end", browser.csrf, button, **hidden)


def ago(at: datetime, now: datetime) -> str:
    minutes = int((now - at).total_seconds()) // 60
    if minutes < 1:
        return "just now"
    if minutes < 120:
        return f"{minutes} min ago"
    return f"{minutes // 60} h ago" if minutes < 2880 else f"{minutes // 1440} days ago"
