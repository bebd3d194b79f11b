"""One's own account: where one is signed in, the second factor, clients and keys."""

from contextlib import suppress
from datetime import datetime

import segno
from fastapi import APIRouter, Request, Response

from penstock.central.access import service as access_keys
from penstock.central.realms import web
from penstock.central.realms.grants import consents
from penstock.central.realms.pages import agents, belongings, browsers, layout, tickets
from penstock.central.realms.pages.browsers import Browser
from penstock.central.realms.pages.layout import PageRoute, button, field, form
from penstock.central.realms.pages.markup import Html, el
from penstock.central.realms.sessions import service as sessions
from penstock.central.realms.sessions.model import Session
from penstock.central.realms.users import proofs, totp
from penstock.central.realms.users.model import User
from penstock.central.realms.web import All, Here
from penstock.kernel.errors import NotFound

router = APIRouter(prefix="/realms/{name}", route_class=PageRoute, include_in_schema=False)
SESSIONS_SHOWN = 100
KEYS_SHOWN = 100


@router.get("/account")
async def show_account(request: Request, realm: Here) -> Response:
    browser = browsers.of(request)
    async with web.transaction(request) as tx:
        known = await browsers.who(tx, browser)
        if known is None:
            return browsers.go(f"{realm.path}/login")
        mine = await sessions.page_of_user(tx, known[1].id, SESSIONS_SHOWN)
        clients = await consents.given(tx, known[1])
        keys = await access_keys.live(tx, known[1].id, KEYS_SHOWN)
        now = tx.now
    session, user = known
    rows = [_row(browser, each, session, now) for each in mine]
    shown = layout.page(
        realm,
        user.name,
        el("p", f"{user.email} · {user.role} of {realm.name}", class_="soft"),
        el("h2", "Second factor"),
        _second_factor(browser, user),
        el("h2", "Where you are signed in"),
        el("ul", *rows, class_="sessions"),
        belongings.clients(browser, clients),
        belongings.keys(browser, keys, now),
        form(f"{realm.path}/logout", browser.csrf, button("Sign out", plain=True)),
        wide=True,
    )
    return browser.remember(shown)


@router.post("/account/sessions/end")
async def end_session(request: Request, realm: Here) -> Response:
    browser = browsers.of(request)
    fields = await browsers.submitted(request, browser)
    async with web.transaction(request) as tx:
        known = await browsers.who(tx, browser)
        if known is not None:
            with suppress(NotFound):  # it ended meanwhile
                actor = browsers.acting(known, tx.now)
                await sessions.end_own(tx, actor, fields.get("session", ""))
    return browsers.go(f"{realm.path}/account")


@router.get("/account/second-factor")
async def show_second_factor(request: Request, realm: Here, realms: All) -> Response:
    browser = browsers.of(request)
    async with web.transaction(request) as tx:
        known = await browsers.who(tx, browser)
        now = tx.now
    if known is None or known[1].totp is not None:
        return browsers.go(f"{realm.path}/account")
    secret = totp.new_secret()
    ticket = tickets.give(realms.seal, browser, "enrol", now, secret=totp.shown(secret))
    return browser.remember(_enrol_page(browser, known[1], secret, ticket))


@router.post("/account/second-factor")
async def enrol(request: Request, realm: Here, realms: All) -> Response:
    browser = browsers.of(request)
    fields = await browsers.submitted(request, browser)
    ticket = fields.get("ticket", "")
    async with web.transaction(request) as tx:
        known = await browsers.who(tx, browser)
        taken = tickets.take(realms.seal, browser, "enrol", tx.now, ticket)
        if known is None or taken is None:
            return browsers.go(f"{realm.path}/account")
        secret = totp.from_shown(taken["secret"])
        done = await proofs.enrol(tx, realms.seal, known[1], secret, fields.get("code", ""))
    if not done:
        return _enrol_page(browser, known[1], secret, ticket, trouble="That code is not right.")
    return browsers.go(f"{realm.path}/account")


def _second_factor(browser: Browser, user: User) -> Html:
    if user.totp is not None:
        return el("p", "On: you are asked for a code from your authenticator when you sign in.")
    return el(
        "p",
        "Off: your password alone lets you in. ",
        el("a", "Set it up", href=f"{browser.realm.path}/account/second-factor"),
    )


def _enrol_page(
    browser: Browser, user: User, secret: bytes, ticket: str, *, trouble: str = ""
) -> Response:
    realm = browser.realm
    code = segno.make(totp.uri(secret, user.email, realm.name), error="m")
    picture = code.svg_data_uri(scale=4, border=2, light="white")
    return layout.page(
        realm,
        "Set up a second factor",
        el("p", "Scan this with an authenticator app, then type the code that it shows."),
        el("img", src=picture, alt="QR code for your authenticator", class_="qr"),
        el("p", "Or type this into it: ", el("code", totp.shown(secret)), class_="soft"),
        layout.wrong(trouble),
        form(
            f"{realm.path}/account/second-factor",
            browser.csrf,
            field(
                "code", "Six digits", autocomplete="one-time-code", class_="code",
                inputmode="numeric", pattern="[0-9]{6}", maxlength="6",
            ),
            button("Turn on"),
            ticket=ticket,
        ),
        status=400 if trouble else 200,
    )  # fmt: skip


def _row(browser: Browser, session: Session, current: Session, now: datetime) -> Html:
    since, seen = belongings.ago(session.created_at, now), belongings.ago(session.seen_at, now)
    ending = belongings.ending(browser, "sessions", "End", session=session.id)
    here = session.id == current.id
    return belongings.row(
        session.client_id or agents.shown(session.agent),
        f"since {since}, last seen {seen}",
        el("span", "this one", class_="soft") if here else ending,
    )
