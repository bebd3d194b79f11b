"""Authorization: someone is sent here by a client, and sent back with a code or a refusal."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from penstock.central.realms import parameters, web
from penstock.central.realms.grants import authorization, hints
from penstock.central.realms.grants.authorization import (
    ConsentNeeded,
    Granted,
    LoginNeeded,
    Verdict,
)
from penstock.central.realms.model import API_SCOPES
from penstock.central.realms.pages import browsers, layout
from penstock.central.realms.pages.browsers import Browser
from penstock.central.realms.pages.layout import PageRoute, button, form
from penstock.central.realms.pages.markup import Html, el
from penstock.central.realms.parameters import Asked
from penstock.central.realms.users.model import User
from penstock.central.realms.web import All, Here
from penstock_contracts import web_addresses

router = APIRouter(prefix="/realms/{name}", route_class=PageRoute, include_in_schema=False)
MEANINGS: Final[Mapping[str, str]] = {
    "openid": "know who you are",
    "profile": "see your name",
    "email": "see your email address",
    "offline_access": "stay signed in while you are away",
    "read": "see what your organization has here",
    "use": "lease and release GPUs for you",
    "administer": "do everything here that you may do",
    "keys": "make keys that can do the same for up to a year, also while you are away",
}


@router.get("/authorize")
async def authorize(request: Request, realm: Here, realms: All) -> Response:
    browser = browsers.of(request)
    asked = await web.asked(request, "authorize")
    entered = asked.get(browsers.FRESH)
    others = {name: asked.get(name) for name in asked.parameters if name != browsers.FRESH}
    asked = replace(asked, parameters=others)
    meant = await hints.subject(realms, realm, asked)
    async with web.transaction(request) as tx:
        known = await browsers.who(tx, browser)
        fresh = known is not None and browsers.is_fresh(known[0], entered, tx.now)
        verdict = await authorization.judge(
            tx, realm, asked, known, meant=meant, logged_in_for_this=fresh
        )
    return _answer(browser, asked, known[1] if known else None, verdict)


@router.post("/authorize")
async def decide(request: Request, realm: Here, realms: All) -> Response:
    browser = browsers.of(request)
    fields = await browsers.submitted(request, browser)
    asked = Asked("GET", realm.at("authorize"), parameters.read(fields.get("query", "")))
    meant = await hints.subject(realms, realm, asked)
    consents = fields.get("decision") == "allow"
    async with web.transaction(request) as tx:
        known = await browsers.who(tx, browser)
        verdict = await authorization.judge(
            tx, realm, asked, known, meant=meant, consents=consents, logged_in_for_this=True
        )
    return _answer(browser, asked, known[1] if known else None, verdict)


def _answer(browser: Browser, asked: Asked, user: User | None, verdict: Verdict) -> Response:
    realm = browser.realm
    query = urlencode(dict(asked.parameters))
    match verdict:
        case Granted(location):
            return browsers.go(location)
        case LoginNeeded():
            onward = f"{realm.path}/authorize?{query}"
            again = "&again=1" if user is not None else ""
            return browsers.go(f"{realm.path}/login?{urlencode({'next': onward})}{again}")
        case ConsentNeeded() as needed:
            return _consent_page(browser, asked, query, user, needed)
        case _:
            reply = verdict.reply
            if reply.location is not None:
                return browsers.go(reply.location)
            return layout.trouble(realm, str(reply.body.get("error_description") or reply.error))


def _consent_page(
    browser: Browser, asked: Asked, query: str, user: User | None, needed: ConsentNeeded
) -> Response:
    realm, client = browser.realm, needed.client
    where = web_addresses.parse(asked.get("redirect_uri"))
    shown_as = where.origin if where is not None else ""
    shown = layout.page(
        realm,
        f"Let {client.name} in?",
        el("p", f"You are signed in as {user.email if user else ''}.", class_="soft"),
        el("p", el("strong", client.name), " would be able to:"),
        scope_list(needed.scopes),
        el("p", "It is at ", el("code", shown_as), ".", class_="soft"),
        form(
            f"{realm.path}/authorize",
            browser.csrf,
            el(
                "div",
                button("Refuse", plain=True, name="decision", value="refuse"),
                button("Allow", name="decision", value="allow"),
                class_="pair",
            ),
            query=query,
        ),
        forms_lead_to=where,
    )
    return browser.remember(shown)


def scope_list(scopes: Sequence[str]) -> Html:
    """What a client could do, without what is part of something else on the list."""
    widest = [scope for scope in API_SCOPES if scope in scopes][-1:]
    told = [scope for scope in scopes if scope not in API_SCOPES or scope in widest]
    return el("ul", *(el("li", MEANINGS.get(scope, scope)) for scope in told))
