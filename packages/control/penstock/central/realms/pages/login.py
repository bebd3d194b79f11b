"""Logging in: a password, then a code where there is a second factor."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from penstock.central.realms import attempts, web
from penstock.central.realms.model import Realm
from penstock.central.realms.pages import browsers, layout, tickets
from penstock.central.realms.pages.browsers import Browser
from penstock.central.realms.pages.layout import PageRoute, button, field, form
from penstock.central.realms.pages.markup import Html, el, join
from penstock.central.realms.providers import service as providers
from penstock.central.realms.providers.model import Provider
from penstock.central.realms.sessions import service as sessions
from penstock.central.realms.users import proofs
from penstock.central.realms.users.model import PASSWORD_LENGTH_MAX, User
from penstock.central.realms.web import All
from penstock.kernel.db import Tx

router = APIRouter(prefix="/realms/{name}", route_class=PageRoute, include_in_schema=False)
# The same words whether the address is unknown, the password wrong or the account locked.
WRONG: Final = (
    "That email and password do not let you in. After several wrong attempts, wait a while "
    "before the next."
)
WRONG_CODE: Final = "That code is not right, or it was used before. Wait for the next one."


@router.get("/style.css")
async def style() -> Response:
    return Response(layout.STYLE, media_type="text/css")


@router.get("/login")
async def show_login(request: Request) -> Response:
    browser = browsers.of(request)
    onward = browsers.inside(browser.realm, request.query_params.get("next", ""))
    async with web.transaction(request) as tx:
        known = await browsers.who(tx, browser)
        offered = await providers.offered(tx, browser.realm.tenant_id)
    if known is not None and request.query_params.get("again") != "1":
        return browsers.go(onward)
    return _login_page(browser, onward, offered)


@router.post("/login")
async def log_in(request: Request, realms: All) -> Response:
    browser = browsers.of(request)
    fields = await browsers.submitted(request, browser)
    onward = browsers.inside(browser.realm, fields.get("next", ""))
    email, password = fields.get("email", ""), fields.get("password", "")[: PASSWORD_LENGTH_MAX + 1]
    with realms.passwords.place(web.address(request)) as place:
        async with web.transaction(request) as tx:
            user = await proofs.count_attempt(tx, browser.realm.tenant_id, email)
            offered = await providers.offered(tx, browser.realm.tenant_id)
        fits = await place.verify(user.password if user else None, password)
    if user is None or not fits:
        async with web.transaction(request) as tx:
            tried = await proofs.meant(tx, browser.realm.tenant_id, email)
        attempts.login_failed(request, tried, _why(user, tried))
        return _login_page(browser, onward, offered, email=email, trouble=WRONG)
    async with web.transaction(request) as tx:
        if user.totp is not None:
            ticket = tickets.give(realms.seal, browser, "code", tx.now, user=user.id, next=onward)
            return _code_page(browser, ticket, onward)
        return await enter(tx, request, browser, user, ("pwd",), onward)


@router.post("/login/code")
async def give_code(request: Request, realms: All) -> Response:
    browser = browsers.of(request)
    fields = await browsers.submitted(request, browser)
    async with web.transaction(request) as tx:
        ticket = fields.get("ticket", "")
        taken = tickets.take(realms.seal, browser, "code", tx.now, ticket)
        if taken is None:
            return browsers.go(f"{browser.realm.path}/login")
        user = await proofs.count_code(tx, taken["user"])
        if user is None or not await proofs.spend_code(
            tx, realms.seal, user, fields.get("code", "")
        ):
            attempts.login_failed(request, taken["user"], "the code was wrong, or used before")
            return _code_page(browser, ticket, taken["next"], trouble=WRONG_CODE)
        return await enter(tx, request, browser, user, ("pwd", "otp", "mfa"), taken["next"])


def _why(compared: User | None, tried: str | None) -> str:
    """For the audit log alone; the page says the same whatever was wrong."""
    if tried is None:
        return "nobody here has that address"
    return "the account is locked or disabled" if compared is None else "the password was wrong"


async def enter(
    tx: Tx, request: Request, browser: Browser, user: User, amr: tuple[str, ...], onward: str
) -> Response:
    """Everything was proven: a new session, and on to where they wanted to go."""
    proven = await proofs.succeed(tx, user)
    if proven is None:
        return _login_page(browser, onward, [], trouble=WRONG)
    agent = request.headers.get("user-agent", "")
    session, cookie = await sessions.start_browser(
        tx, browser.realm.tenant_id, user.id, amr=amr, agent=agent
    )
    return browser.admit(browsers.go(browsers.entered(onward, session)), cookie)


def elsewhere(realm: Realm, offered: Sequence[Provider], onward: str) -> Html:
    """The other issuers that vouch for people here, if there are any."""
    if not offered:
        return Html("")
    asked = urlencode({"next": onward})
    others = [
        el(
            "a", f"Continue with {each.name}", class_="button plain",
            href=f"{realm.path}/provider/{each.id}?{asked}",
        )
        for each in offered
    ]  # fmt: skip
    return join(el("p", "or", class_="or"), *others)


def _login_page(
    browser: Browser,
    onward: str,
    offered: Sequence[Provider],
    *,
    email: str = "",
    trouble: str = "",
) -> Response:
    realm = browser.realm
    shown = layout.page(
        realm,
        "Sign in",
        el("p", "to ", el("span", realm.name, class_="realm"), class_="soft"),
        layout.wrong(trouble),
        form(
            f"{realm.path}/login",
            browser.csrf,
            field(
                "email", "Email", type="email", value=email[:254], autocomplete="username",
                autofocus=not email,
            ),
            field(
                "password", "Password", type="password", autocomplete="current-password",
                autofocus=bool(email),
            ),
            button("Sign in"),
            next=onward,
        ),
        elsewhere(realm, offered, onward),
        status=401 if trouble else 200,
        forms_lead_to=browsers.leads_to(onward),
    )  # fmt: skip
    return browser.remember(shown)


def _code_page(browser: Browser, ticket: str, onward: str, *, trouble: str = "") -> Response:
    realm = browser.realm
    return layout.page(
        realm,
        "Enter your code",
        el("p", "from the authenticator app that you set up.", class_="soft"),
        layout.wrong(trouble),
        form(
            f"{realm.path}/login/code",
            browser.csrf,
            field(
                "code", "Six digits", autocomplete="one-time-code", autofocus=True, class_="code",
                inputmode="numeric", pattern="[0-9]{6}", maxlength="6",
            ),
            button("Continue"),
            ticket=ticket,
        ),
        status=401 if trouble else 200,
        forms_lead_to=browsers.leads_to(onward),
    )  # fmt: skip
